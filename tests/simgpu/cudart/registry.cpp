#include "tests/simgpu/cudart/registry.h"

#include <list>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "tests/simgpu/cudart/context.h"

namespace simgpu::cudart {

struct Image {
  const void* wrapper = nullptr;
  CUlibrary library = nullptr;
};

namespace {

struct RegisteredKernel {
  Image* image;
  std::string name;
  CUkernel handle = nullptr;
};

struct RegisteredVariable {
  Image* image;
  std::string name;
};

struct Registry {
  std::mutex mutex;
  std::list<Image> images;
  std::unordered_map<const void*, RegisteredKernel> kernels;
  std::unordered_map<const void*, RegisteredVariable> variables;
  std::unordered_set<const void*> handles;  ///< all CUkernel given out
};

/// Never destroyed: start-up code registers before, and exit handlers unregister after, any static object's life.
Registry& registry() {
  static auto* const instance = new Registry;
  return *instance;
}

/// As NVIDIA's runtime does it: the image stays where it is, so the driver need not copy it.
CUresult load(Image& image) {
  if (image.library != nullptr) return CUDA_SUCCESS;
  CUlibraryOption option = CU_LIBRARY_BINARY_IS_PRESERVED;
  void* yes = reinterpret_cast<void*>(1);
  return driver().cuLibraryLoadData(&image.library, image.wrapper, nullptr, nullptr, 0, &option, &yes, 1);
}

CUresult resolve(RegisteredKernel& kernel) {
  if (kernel.handle != nullptr) return CUDA_SUCCESS;
  if (const CUresult result = load(*kernel.image); result != CUDA_SUCCESS) return result;
  return driver().cuLibraryGetKernel(&kernel.handle, kernel.image->library, kernel.name.c_str());
}

}  // namespace

Image* register_image(const void* wrapper) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  return &all.images.emplace_back(Image{wrapper});
}

void register_kernel(Image* image, const void* host_function, const char* name) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.kernels.insert_or_assign(host_function, RegisteredKernel{image, name});
}

void register_variable(Image* image, const void* host_variable, const char* name) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.variables.insert_or_assign(host_variable, RegisteredVariable{image, name});
}

void unregister_image(Image* image) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.kernels, [image](const auto& entry) { return entry.second.image == image; });
  std::erase_if(all.variables, [image](const auto& entry) { return entry.second.image == image; });
  // At exit the driver may be gone already; it then answers that it is deinitialised.
  if (image->library != nullptr) driver().cuLibraryUnload(image->library);
  all.images.remove_if([image](const Image& other) { return &other == image; });
}

cudaError_t find_kernel(const void* host_function, CUkernel& kernel) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto found = all.kernels.find(host_function);
  if (found == all.kernels.end()) {
    if (!all.handles.contains(host_function)) return cudaErrorInvalidDeviceFunction;
    kernel = static_cast<CUkernel>(const_cast<void*>(host_function));
    return cudaSuccess;
  }
  const CUresult result = resolve(found->second);
  if (result == CUDA_ERROR_NOT_FOUND) return cudaErrorInvalidDeviceFunction;
  if (result != CUDA_SUCCESS) return from_driver(result);
  kernel = found->second.handle;
  all.handles.insert(kernel);
  return cudaSuccess;
}

cudaError_t find_variable(const void* host_variable, Variable& variable) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto found = all.variables.find(host_variable);
  if (found == all.variables.end()) return cudaErrorInvalidSymbol;
  Image& image = *found->second.image;
  if (const CUresult result = load(image); result != CUDA_SUCCESS) return from_driver(result);
  const char* name = found->second.name.c_str();
  const CUresult result = driver().cuLibraryGetGlobal(&variable.address, &variable.bytes, image.library, name);
  return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : from_driver(result);
}

cudaError_t load_eager_images() {
  CUmoduleLoadingMode mode = CU_MODULE_LAZY_LOADING;
  if (driver().cuModuleGetLoadingMode(&mode) != CUDA_SUCCESS || mode != CU_MODULE_EAGER_LOADING) return cudaSuccess;
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (Image& image : all.images) {
    if (const CUresult result = load(image); result != CUDA_SUCCESS) return from_driver(result);
  }
  return cudaSuccess;
}

}  // namespace simgpu::cudart
