// cuLibrary* and cuKernel*: code without a context, which is what the runtime loads.

#include <cuda.h>

#include <fstream>
#include <iterator>

#include "tests/simgpu/driver/code.h"
#include "tests/simgpu/driver/function_attributes.h"

namespace simgpu {
namespace {

CUresult load(Call& call, CUlibrary* out, const void* image) {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  const auto code = load_code(call, image);
  if (!code) return code.error();
  *out = call.driver().libraries.add<CUlibrary>(std::make_shared<LibraryObject>(LibraryObject{*code, {}, nullptr}));
  return CUDA_SUCCESS;
}

template <class Body>
CUresult with_library(const char* name, CUlibrary handle, Body body) {
  return api({name}, Needs::driver, &ApiCosts::call, [&](Call& call) {
    const auto library = call.driver().libraries.find(handle);
    return library ? body(call, *library) : CUDA_ERROR_INVALID_HANDLE;
  });
}

template <class Body>
CUresult with_kernel(const char* name, CUkernel handle, Body body) {
  return api({name}, Needs::driver, &ApiCosts::call, [&](Call& call) {
    const auto kernel = call.driver().kernels.find(handle);
    return kernel ? body(call, *kernel) : CUDA_ERROR_INVALID_HANDLE;
  });
}

tl::expected<CUkernel, CUresult> get_kernel(Call& call, CUlibrary handle, LibraryObject& library, const char* name) {
  if (!name) return tl::unexpected(CUDA_ERROR_INVALID_VALUE);
  if (const auto known = library.kernels.find(name); known != library.kernels.end()) return known->second;
  const auto function = make_function(call, library.code, name, nullptr);
  if (!function) return tl::unexpected(function.error());
  const auto kernel =
      call.driver().kernels.add<CUkernel>(std::make_shared<KernelObject>(KernelObject{handle, *function}));
  library.kernels.emplace(name, kernel);
  return kernel;
}

// The module that a library becomes in the current context.
CUmodule module_of(Call& call, LibraryObject& library) {
  if (!library.module) {
    Context* const context = call.thread().contexts.empty() ? nullptr : call.thread().contexts.back();
    library.module =
        call.driver().modules.add<CUmodule>(std::make_shared<ModuleObject>(ModuleObject{library.code, context, {}}));
  }
  return library.module;
}

CUfunction function_of(Call& call, KernelObject& kernel) {
  const auto handle = reinterpret_cast<CUfunction>(kernel.function.get());
  if (!call.driver().functions.find(handle)) {
    const auto library = call.driver().libraries.find(kernel.library);
    if (library) kernel.function->module = module_of(call, *library);
    call.driver().functions.add<CUfunction>(kernel.function);
  }
  return handle;
}

}  // namespace

extern "C" {

CUresult cuLibraryLoadData(CUlibrary* out, const void* code, CUjit_option*, void**, unsigned, CUlibraryOption*, void**,
                           unsigned) {
  return api({__func__}, Needs::driver, &ApiCosts::load_module, [&](Call& call) { return load(call, out, code); });
}

CUresult cuLibraryLoadFromFile(CUlibrary* out, const char* path, CUjit_option*, void**, unsigned, CUlibraryOption*,
                               void**, unsigned) {
  return api({__func__}, Needs::driver, &ApiCosts::load_module, [&](Call& call) {
    std::ifstream file(path ? path : "", std::ios::binary);
    if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
    const std::string image{std::istreambuf_iterator<char>(file), {}};
    return load(call, out, image.c_str());
  });
}

// Queued launches keep the code and its globals until they have run.
CUresult cuLibraryUnload(CUlibrary handle) {
  return with_library(__func__, handle, [&](Call& call, LibraryObject& library) {
    for (const auto& [name, kernel] : library.kernels) {
      call.driver().functions.remove(call.driver().kernels.find(kernel)->function.get());
      call.driver().kernels.remove(kernel);
    }
    if (library.module) call.driver().modules.remove(library.module);
    call.driver().libraries.remove(handle);
    return CUDA_SUCCESS;
  });
}

CUresult cuLibraryGetKernel(CUkernel* out, CUlibrary handle, const char* name) {
  return with_library(__func__, handle, [&](Call& call, LibraryObject& library) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    const auto kernel = get_kernel(call, handle, library, name);
    if (!kernel) return kernel.error();
    *out = *kernel;
    return CUDA_SUCCESS;
  });
}

CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary handle) {
  return with_library(__func__, handle, [&](Call&, LibraryObject& library) {
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    *count = static_cast<unsigned>(library.code->module->kernel_names().size());
    return CUDA_SUCCESS;
  });
}

CUresult cuLibraryEnumerateKernels(CUkernel* out, unsigned count, CUlibrary handle) {
  return with_library(__func__, handle, [&](Call& call, LibraryObject& library) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    for (const std::string& name : library.code->module->kernel_names()) {
      if (count-- == 0) break;
      const auto kernel = get_kernel(call, handle, library, name.c_str());
      if (!kernel) return kernel.error();
      *out++ = *kernel;
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuLibraryGetModule(CUmodule* out, CUlibrary handle) {
  return with_library(__func__, handle, [&](Call& call, LibraryObject& library) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    *out = module_of(call, library);
    return CUDA_SUCCESS;
  });
}

CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary handle, const char* name) {
  return with_library(__func__, handle,
                      [&](Call&, LibraryObject& library) { return find_global(*library.code, name, address, bytes); });
}

// Managed memory is refused, so no module that loads has any.
CUresult cuLibraryGetManaged(CUdeviceptr*, size_t*, CUlibrary handle, const char*) {
  return with_library(__func__, handle, [](Call&, LibraryObject&) { return CUDA_ERROR_NOT_FOUND; });
}

CUresult cuKernelGetFunction(CUfunction* out, CUkernel handle) {
  return with_kernel(__func__, handle, [&](Call& call, KernelObject& kernel) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    *out = function_of(call, kernel);
    return CUDA_SUCCESS;
  });
}

CUresult cuKernelGetLibrary(CUlibrary* out, CUkernel handle) {
  return with_kernel(__func__, handle, [&](Call&, KernelObject& kernel) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    *out = kernel.library;
    return CUDA_SUCCESS;
  });
}

CUresult cuKernelGetName(const char** name, CUkernel handle) {
  return with_kernel(__func__, handle, [&](Call&, KernelObject& kernel) {
    if (!name) return CUDA_ERROR_INVALID_VALUE;
    *name = kernel.function->name.c_str();
    return CUDA_SUCCESS;
  });
}

CUresult cuKernelGetParamInfo(CUkernel handle, size_t index, size_t* offset, size_t* bytes) {
  return with_kernel(__func__, handle, [&](Call&, KernelObject& kernel) {
    return parameter_info(*kernel.function, index, offset, bytes);
  });
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel handle, CUdevice device) {
  return with_kernel(__func__, handle, [&](Call& call, KernelObject& kernel) {
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    return get_attribute(call.device().settings, *kernel.function, attribute, value);
  });
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle, CUdevice device) {
  return with_kernel(__func__, handle, [&](Call& call, KernelObject& kernel) {
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    return set_attribute(call.device().settings, *kernel.function, attribute, value);
  });
}

CUresult cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache, CUdevice) {
  return with_kernel(__func__, handle, [](Call&, KernelObject&) { return CUDA_SUCCESS; });
}

}  // extern "C"
}  // namespace simgpu
