// What nvcc's generated code calls; prototypes as in the toolkit's crt/host_runtime.h and crt/device_functions.h.

#include <vector_types.h>

#include <vector>

#include "tests/simgpu/cudart/context.h"
#include "tests/simgpu/cudart/registry.h"

using namespace simgpu::cudart;

namespace {

struct CallConfiguration {
  dim3 grid;
  dim3 block;
  size_t shared_bytes;
  CUstream stream;
};

/// <<<>>> pushes, the kernel's host function pops; arguments may hold launches of their own.
thread_local std::vector<CallConfiguration> configurations;

Image* image_of(void** handle) {
  return reinterpret_cast<Image*>(handle);
}

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  return reinterpret_cast<void**>(register_image(wrapper));
}

void __cudaRegisterFatBinaryEnd(void** /*image*/) {}

void __cudaUnregisterFatBinary(void** image) {
  if (image != nullptr) unregister_image(image_of(image));
}

void __cudaRegisterFunction(void** image, const char* host_function, char* /*device_function*/, const char* device_name,
                            int /*thread_limit*/, uint3*, uint3*, dim3*, dim3*, int*) {
  register_kernel(image_of(image), host_function, device_name);
}

void __cudaRegisterVar(void** image, char* host_variable, char* /*device_address*/, const char* device_name,
                       int /*ext*/, size_t /*size*/, int /*constant*/, int /*global*/) {
  register_variable(image_of(image), host_variable, device_name);
}

char __cudaInitModule(void** /*image*/) {
  return 1;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, CUstream stream) {
  configurations.push_back({grid, block, shared_bytes, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
  if (configurations.empty()) return remember(cudaErrorMissingConfiguration);
  const CallConfiguration& top = configurations.back();
  *grid = top.grid;
  *block = top.block;
  *shared_bytes = top.shared_bytes;
  *static_cast<CUstream*>(stream) = top.stream;
  configurations.pop_back();
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* handle, const void* host_function) {
  return with_context([&] { return find_kernel(host_function, *handle); });
}
}
