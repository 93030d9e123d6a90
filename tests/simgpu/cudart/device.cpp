#include <cuda_runtime_api.h>

#include "tests/simgpu/cudart/context.h"

using namespace simgpu::cudart;

namespace {

/// A call about one device, by ordinal; needs no context.
template <typename Body>
cudaError_t with_device(int ordinal, Body body) {
  return with_driver([&] {
    CUdevice device = 0;
    const CUresult result = driver().cuDeviceGet(&device, ordinal);
    return result == CUDA_SUCCESS ? from_driver(body(device)) : from_driver(result);
  });
}

}  // namespace

extern "C" {

cudaError_t cudaDriverGetVersion(int* version) {
  // A machine without a driver has version 0; that is no error.
  if (load_driver() == cudaErrorInsufficientDriver) return *version = 0, cudaSuccess;
  return remember(from_driver(driver().cuDriverGetVersion(version)));
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  return *version = CUDART_VERSION, cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  return with_driver([&] { return from_driver(driver().cuDeviceGetCount(count)); });
}

cudaError_t cudaGetDevice(int* device) {
  return with_driver([&] { return *device = current_device(), cudaSuccess; });
}

cudaError_t cudaSetDevice(int device) {
  return select_device(device);
}

cudaError_t cudaInitDevice(int device, unsigned /*device_flags*/, unsigned /*flags*/) {
  int before = current_device();
  const cudaError_t error = select_device(device);
  return error == cudaSuccess ? select_device(before) : error;
}

cudaError_t cudaSetDeviceFlags(unsigned flags) {
  return with_device(current_device(),
                     [&](CUdevice device) { return driver().cuDevicePrimaryCtxSetFlags(device, flags); });
}

cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  return forward(driver().cuCtxGetFlags, flags);
}

cudaError_t cudaDeviceSynchronize() {
  return forward(driver().cuCtxSynchronize);
}

cudaError_t cudaDeviceReset() {
  return reset_device();
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int ordinal) {
  // The runtime's attribute numbers are the driver's.
  return with_device(ordinal, [&](CUdevice device) {
    return driver().cuDeviceGetAttribute(value, static_cast<CUdevice_attribute>(attribute), device);
  });
}

cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  return forward(driver().cuCtxGetLimit, value, static_cast<CUlimit>(limit));
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  return forward(driver().cuCtxSetLimit, static_cast<CUlimit>(limit), value);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return forward(driver().cuCtxGetStreamPriorityRange, least, greatest);
}

cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int ordinal) {
  return with_device(ordinal, [&](CUdevice device) { return driver().cuDeviceGetPCIBusId(id, length, device); });
}

cudaError_t cudaDeviceGetByPCIBusId(int* ordinal, const char* id) {
  return with_driver([&] { return from_driver(driver().cuDeviceGetByPCIBusId(ordinal, id)); });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int ordinal, int peer) {
  return with_device(ordinal, [&](CUdevice device) { return driver().cuDeviceCanAccessPeer(can, device, peer); });
}
}
