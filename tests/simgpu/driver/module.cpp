// cuModule*: code of one context.

#include <cuda.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "tests/simgpu/driver/code.h"

namespace simgpu {
namespace {

CUresult load(Call& call, CUmodule* out, const void* image) {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  const auto code = load_code(call, image);
  if (!code) return code.error();
  *out = call.driver().modules.add<CUmodule>(std::make_shared<ModuleObject>(ModuleObject{*code, &call.context(), {}}));
  return CUDA_SUCCESS;
}

// JIT options come as two arrays; the values are the pointers themselves or what they point to.
void fill_error_log(unsigned count, const CUjit_option* options, void** values) {
  const auto find = [&](CUjit_option option) {
    const auto at = std::find(options, options + count, option);
    return at == options + count ? nullptr : &values[at - options];
  };
  if (count == 0 || !options || !values) return;
  void** const buffer = find(CU_JIT_ERROR_LOG_BUFFER);
  void** const size = find(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
  if (!buffer || !*buffer || !size) return;
  const auto room = reinterpret_cast<std::uintptr_t>(*size) & 0xffffffffu;
  const std::size_t bytes = std::min<std::size_t>(last_load_error().size() + 1, room);
  std::memcpy(*buffer, last_load_error().c_str(), bytes);
  if (bytes > 0) static_cast<char*>(*buffer)[bytes - 1] = '\0';
  *size = reinterpret_cast<void*>(bytes);
}

template <class Body>
CUresult with_module(const char* name, CUmodule handle, Body body) {
  return api({name}, [&](Call& call) {
    const auto module = call.driver().modules.find(handle);
    return module ? body(call, *module) : CUDA_ERROR_INVALID_HANDLE;
  });
}

}  // namespace

extern "C" {

CUresult cuModuleLoadData(CUmodule* out, const void* image) {
  return api({__func__}, Needs::context, &ApiCosts::load_module, [&](Call& call) { return load(call, out, image); });
}

CUresult cuModuleLoadDataEx(CUmodule* out, const void* image, unsigned count, CUjit_option* options, void** values) {
  return api({__func__}, Needs::context, &ApiCosts::load_module, [&](Call& call) {
    const CUresult result = load(call, out, image);
    if (result != CUDA_SUCCESS) fill_error_log(count, options, values);
    return result;
  });
}

CUresult cuModuleLoadFatBinary(CUmodule* out, const void* image) {
  return api({__func__}, Needs::context, &ApiCosts::load_module, [&](Call& call) { return load(call, out, image); });
}

CUresult cuModuleLoad(CUmodule* out, const char* path) {
  return api({__func__}, Needs::context, &ApiCosts::load_module, [&](Call& call) {
    std::ifstream file(path ? path : "", std::ios::binary);
    if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
    const std::string image{std::istreambuf_iterator<char>(file), {}};
    return load(call, out, image.c_str());
  });
}

CUresult cuModuleUnload(CUmodule handle) {
  return with_module(__func__, handle, [&](Call& call, ModuleObject& module) {
    call.device().synchronize(call.context());
    for (const auto& [name, function] : module.functions) call.driver().functions.remove(function);
    call.driver().modules.remove(handle);
    return call.outcome();
  });
}

CUresult cuModuleGetFunction(CUfunction* out, CUmodule handle, const char* name) {
  return with_module(__func__, handle, [&](Call& call, ModuleObject& module) {
    if (!out || !name) return CUDA_ERROR_INVALID_VALUE;
    auto known = module.functions.find(name);
    if (known == module.functions.end()) {
      auto function = make_function(call, module.code, name, handle);
      if (!function) return function.error();
      known = module.functions.emplace(name, call.driver().functions.add<CUfunction>(std::move(*function))).first;
    }
    *out = known->second;
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule handle) {
  return with_module(__func__, handle, [&](Call&, ModuleObject& module) {
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    *count = static_cast<unsigned>(module.code->module->kernel_names().size());
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule handle, const char* name) {
  return with_module(__func__, handle,
                     [&](Call&, ModuleObject& module) { return find_global(*module.code, name, address, bytes); });
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  return api({__func__}, Needs::driver, &ApiCosts::call, [&](Call&) {
    if (!mode) return CUDA_ERROR_INVALID_VALUE;
    const char* const wish = std::getenv("CUDA_MODULE_LOADING");
    *mode = wish && std::strcmp(wish, "EAGER") == 0 ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
}  // namespace simgpu
