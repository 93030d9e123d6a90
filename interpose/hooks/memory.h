#pragma once

#include "interpose/hook.h"

namespace tensorpager {

// Stream-ordered.
inline CUresult alloc_async(const Call& call, CUdeviceptr* address, std::size_t bytes, CUstream stream) {
  return on_alloc_async(address, bytes, nullptr, call.on(stream), call.forward);
}
inline CUresult alloc_from_pool(const Call& call, CUdeviceptr* address, std::size_t bytes, CUmemoryPool pool,
                                CUstream stream) {
  return on_alloc_async(address, bytes, pool, call.on(stream), call.forward);
}
inline CUresult free_async(const Call& call, CUdeviceptr address, CUstream stream) {
  return on_free_async(address, call.on(stream), call.forward);
}
TENSORPAGER_HOOKS(cuMemAllocAsync, _ptsz, alloc_async)
TENSORPAGER_HOOKS(cuMemAllocFromPoolAsync, _ptsz, alloc_from_pool)
TENSORPAGER_HOOKS(cuMemFreeAsync, _ptsz, free_async)

// Plain.
inline CUresult plain_alloc(const Call& call, CUdeviceptr* address, std::size_t bytes) {
  return on_plain_alloc(address, bytes, call.forward);
}
// No device pads rows to more.
constexpr std::size_t padded(std::size_t width) noexcept {
  return (width + 511) / 512 * 512;
}
inline CUresult pitched_alloc(const Call& call, CUdeviceptr* address, std::size_t*, std::size_t width,
                              std::size_t height, unsigned) {
  return on_plain_alloc(address, padded(width) * height, call.forward);
}
inline CUresult managed_alloc(const Call& call, CUdeviceptr* address, std::size_t bytes, unsigned) {
  return on_plain_alloc(address, bytes, call.forward);
}
inline CUresult plain_free(const Call& call, CUdeviceptr address) {
  return on_plain_free(address, call.forward);
}
TENSORPAGER_HOOK(cuMemAlloc_v2, plain_alloc)
TENSORPAGER_HOOK(cuMemAllocPitch_v2, pitched_alloc)
TENSORPAGER_HOOK(cuMemAllocManaged, managed_alloc)
TENSORPAGER_HOOK(cuMemFree_v2, plain_free)

// Plain, as before CUDA 3.2: addresses of 32 bits.
inline CUresult narrow_alloc(const Call& call, CUdeviceptr_v1* address, std::size_t bytes) {
  CUdeviceptr wide = 0;
  const auto forward = [&] {
    const CUresult result = call.forward();
    if (result == CUDA_SUCCESS) wide = *address;
    return result;
  };
  return on_plain_alloc(&wide, bytes, forward);
}
inline CUresult plain_alloc_v1(const Call& call, CUdeviceptr_v1* address, unsigned bytes) {
  return narrow_alloc(call, address, bytes);
}
inline CUresult pitched_alloc_v1(const Call& call, CUdeviceptr_v1* address, unsigned*, unsigned width, unsigned height,
                                 unsigned) {
  return narrow_alloc(call, address, padded(width) * height);
}
inline CUresult plain_free_v1(const Call& call, CUdeviceptr_v1 address) {
  return on_plain_free(address, call.forward);
}
TENSORPAGER_HOOK(cuMemAlloc, plain_alloc_v1)
TENSORPAGER_HOOK(cuMemAllocPitch, pitched_alloc_v1)
TENSORPAGER_HOOK(cuMemFree, plain_free_v1)

// Questions.
inline CUresult mem_get_info(const Call& call, std::size_t* free_bytes, std::size_t* total_bytes) {
  return on_mem_get_info(free_bytes, total_bytes, call.forward);
}
inline CUresult address_range(const Call& call, CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address) {
  return on_address_range(base, bytes, address, call.forward);
}
inline CUresult pointer_attribute(const Call& call, void* data, CUpointer_attribute attribute, CUdeviceptr address) {
  return on_pointer_attribute(data, attribute, address, call.forward);
}
inline CUresult pointer_attributes(const Call& call, unsigned count, CUpointer_attribute* attributes, void** data,
                                   CUdeviceptr address) {
  return on_pointer_attributes(count, attributes, data, address, call.forward);
}
TENSORPAGER_HOOK(cuMemGetInfo_v2, mem_get_info)
TENSORPAGER_HOOK(cuMemGetAddressRange_v2, address_range)
TENSORPAGER_HOOK(cuPointerGetAttribute, pointer_attribute)
TENSORPAGER_HOOK(cuPointerGetAttributes, pointer_attributes)

}  // namespace tensorpager
