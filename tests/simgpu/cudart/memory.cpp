#include <cuda_runtime_api.h>

#include "tests/simgpu/cudart/stream_entry.h"

using namespace simgpu::cudart;

namespace {

CUdeviceptr address(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}
CUdeviceptr* address_slot(void** pointer) {
  return reinterpret_cast<CUdeviceptr*>(pointer);
}

/// The runtime answers a request for nothing itself; the driver would refuse it.
template <typename Allocate>
cudaError_t allocate(void** pointer, size_t bytes, Allocate allocate_some) {
  return with_context([&] {
    if (pointer == nullptr) return cudaErrorInvalidValue;
    *pointer = nullptr;
    return bytes == 0 ? cudaSuccess : from_driver(allocate_some());
  });
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  return allocate(pointer, bytes, [&] { return driver().cuMemAlloc(address_slot(pointer), bytes); });
}

cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned flags) {
  return with_context([&] { return from_driver(driver().cuMemAllocManaged(address_slot(pointer), bytes, flags)); });
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  constexpr unsigned kWidestElement = 16;
  return allocate(pointer, width * height, [&] {
    return driver().cuMemAllocPitch(address_slot(pointer), pitch, width, height, kWidestElement);
  });
}

cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  return allocate(pointer, bytes, [&] { return driver().cuMemHostAlloc(pointer, bytes, 0); });
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  return allocate(pointer, bytes, [&] { return driver().cuMemHostAlloc(pointer, bytes, flags); });
}

cudaError_t cudaFree(void* pointer) {
  return forward(driver().cuMemFree, address(pointer));
}

cudaError_t cudaFreeHost(void* pointer) {
  return with_context([&] { return pointer == nullptr ? cudaSuccess : from_driver(driver().cuMemFreeHost(pointer)); });
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned flags) {
  return forward(driver().cuMemHostRegister, pointer, bytes, flags);
}

cudaError_t cudaHostUnregister(void* pointer) {
  return forward(driver().cuMemHostUnregister, pointer);
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
  return forward(driver().cuMemHostGetDevicePointer, address_slot(device), host, flags);
}

cudaError_t cudaHostGetFlags(unsigned* flags, void* host) {
  return forward(driver().cuMemHostGetFlags, flags, host);
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return forward(driver().cuMemGetInfo, free, total);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return with_context([&] {
    if (attributes == nullptr) return cudaErrorInvalidValue;
    unsigned type = 0, managed = 0;
    int ordinal = -2;
    CUdeviceptr device = 0;
    void* host = nullptr;
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                   CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER,
                                   CU_POINTER_ATTRIBUTE_IS_MANAGED};
    void* values[] = {&type, &ordinal, &device, &host, &managed};
    const CUresult result = driver().cuPointerGetAttributes(5, names, values, address(pointer));
    if (result != CUDA_SUCCESS) return from_driver(result);
    *attributes = {};
    // The driver's memory types 0, 1 and 2 mean the same as the runtime's unregistered, host and device.
    attributes->type = managed != 0 ? cudaMemoryTypeManaged : static_cast<cudaMemoryType>(type);
    attributes->device = ordinal;
    attributes->devicePointer = reinterpret_cast<void*>(device);
    attributes->hostPointer = type == 0 ? const_cast<void*>(pointer) : host;
    return cudaSuccess;
  });
}
}

SIMGPU_STREAM_ENTRY(cudaMallocAsync, _ptsz, (pointer, bytes, stream), void** pointer, size_t bytes,
                    cudaStream_t stream) {
  return from_driver(on.cuMemAllocAsync(address_slot(pointer), bytes, stream));
}

SIMGPU_STREAM_ENTRY(cudaMallocFromPoolAsync, _ptsz, (pointer, bytes, pool, stream), void** pointer, size_t bytes,
                    cudaMemPool_t pool, cudaStream_t stream) {
  return from_driver(on.cuMemAllocFromPoolAsync(address_slot(pointer), bytes, pool, stream));
}

SIMGPU_STREAM_ENTRY(cudaFreeAsync, _ptsz, (pointer, stream), void* pointer, cudaStream_t stream) {
  return from_driver(on.cuMemFreeAsync(address(pointer), stream));
}
