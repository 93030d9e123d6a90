#pragma once

#include <cuda.h>
#include <driver_types.h>

#include <cstddef>

namespace simgpu::cudart {

/// One fat binary, as nvcc's start-up code registers it. Loaded at the first use of a kernel or variable of it, or with
/// CUDA_MODULE_LOADING=EAGER at the first call that needs a context.
struct Image;

Image* register_image(const void* wrapper);
void register_kernel(Image* image, const void* host_function, const char* name);
void register_variable(Image* image, const void* host_variable, const char* name);
/// Unloads it and forgets its kernels and variables.
void unregister_image(Image* image);

/// The kernel behind a host function's address; a handle that this function gave before stands for itself.
/// cudaErrorInvalidDeviceFunction: nobody registered it.
cudaError_t find_kernel(const void* host_function, CUkernel& kernel);

struct Variable {
  CUdeviceptr address;
  std::size_t bytes;
};
/// cudaErrorInvalidSymbol: nobody registered it.
cudaError_t find_variable(const void* host_variable, Variable& variable);

/// Loads all images when the driver's loading mode is eager.
cudaError_t load_eager_images();

}  // namespace simgpu::cudart
