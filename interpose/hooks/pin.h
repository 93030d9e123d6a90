#pragma once

// Calls after which hardware, the driver or another process may use an address without naming it again.

#include <cstring>
#include <memory>
#include <new>

#include "interpose/hook.h"

namespace tensorpager {

inline CUdeviceptr as_address(const void* pointer) noexcept {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

// Handles that other processes or devices open.
inline CUresult ipc_handle(const Call& call, CUipcMemHandle*, CUdeviceptr address) {
  return on_pin({address}, call.on_null(), call.forward);
}
inline CUresult range_handle(const Call& call, void*, CUdeviceptr address, std::size_t, CUmemRangeHandleType,
                             unsigned long long) {
  return on_pin({address}, call.on_null(), call.forward);
}
inline CUresult export_pointer(const Call& call, CUmemPoolPtrExportData*, CUdeviceptr address) {
  return on_pin({address}, call.on_null(), call.forward);
}
inline CUresult set_pointer_attribute(const Call& call, const void*, CUpointer_attribute, CUdeviceptr address) {
  return on_pin({address}, call.on_null(), call.forward);
}
TENSORPAGER_HOOK(cuIpcGetMemHandle, ipc_handle)
TENSORPAGER_HOOK(cuMemGetHandleForAddressRange, range_handle)
TENSORPAGER_HOOK(cuMemPoolExportPointer, export_pointer)
TENSORPAGER_HOOK(cuPointerSetAttribute, set_pointer_attribute)

// Textures and tensor maps.
inline CUresult bind_texture(const Call& call, std::size_t*, CUtexref, CUdeviceptr address, std::size_t) {
  return on_pin({address}, call.on_null(), call.forward);
}
inline CUresult bind_texture_2d(const Call& call, CUtexref, const CUDA_ARRAY_DESCRIPTOR*, CUdeviceptr address,
                                std::size_t) {
  return on_pin({address}, call.on_null(), call.forward);
}
inline CUdeviceptr resource_address(const CUDA_RESOURCE_DESC& resource) noexcept {
  if (resource.resType == CU_RESOURCE_TYPE_LINEAR) return resource.res.linear.devPtr;
  return resource.resType == CU_RESOURCE_TYPE_PITCH2D ? resource.res.pitch2D.devPtr : 0;
}
inline CUresult create_texture(const Call& call, CUtexObject*, const CUDA_RESOURCE_DESC* resource,
                               const CUDA_TEXTURE_DESC*, const CUDA_RESOURCE_VIEW_DESC*) {
  return on_pin({resource == nullptr ? 0 : resource_address(*resource)}, call.on_null(), call.forward);
}
// The functions differ in what follows the address.
inline constexpr auto encode_tensor_map = [](const Call& call, CUtensorMap*, CUtensorMapDataType, cuuint32_t,
                                             void* address, auto...) {
  return on_pin({as_address(address)}, call.on_null(), call.forward);
};
inline CUresult replace_address(const Call& call, CUtensorMap*, void* address) {
  return on_pin({as_address(address)}, call.on_null(), call.forward);
}
TENSORPAGER_HOOK(cuTexRefSetAddress_v2, bind_texture)
TENSORPAGER_HOOK(cuTexRefSetAddress2D_v2, bind_texture_2d)
TENSORPAGER_HOOK(cuTexRefSetAddress2D_v3, bind_texture_2d)
TENSORPAGER_HOOK(cuTexObjectCreate, create_texture)
TENSORPAGER_HOOK(cuTensorMapEncodeTiled, encode_tensor_map)
TENSORPAGER_HOOK(cuTensorMapEncodeIm2col, encode_tensor_map)
TENSORPAGER_HOOK(cuTensorMapEncodeIm2colWide, encode_tensor_map)
TENSORPAGER_HOOK(cuTensorMapReplaceAddress, replace_address)

// Stream memory operations: their address is polled or written by the device's front end.
template <class Value>
CUresult wait_value(const Call& call, CUstream stream, CUdeviceptr address, Value, unsigned) {
  note_host_wait();
  return on_pin({address}, call.on(stream), call.forward);
}
template <class Value>
CUresult write_value(const Call& call, CUstream stream, CUdeviceptr address, Value, unsigned) {
  return on_pin({address}, call.on(stream), call.forward);
}
TENSORPAGER_HOOKS(cuStreamWaitValue32, _ptsz, wait_value<cuuint32_t>)
TENSORPAGER_HOOKS(cuStreamWaitValue32_v2, _ptsz, wait_value<cuuint32_t>)
TENSORPAGER_HOOKS(cuStreamWaitValue64, _ptsz, wait_value<cuuint64_t>)
TENSORPAGER_HOOKS(cuStreamWaitValue64_v2, _ptsz, wait_value<cuuint64_t>)
TENSORPAGER_HOOKS(cuStreamWriteValue32, _ptsz, write_value<cuuint32_t>)
TENSORPAGER_HOOKS(cuStreamWriteValue32_v2, _ptsz, write_value<cuuint32_t>)
TENSORPAGER_HOOKS(cuStreamWriteValue64, _ptsz, write_value<cuuint64_t>)
TENSORPAGER_HOOKS(cuStreamWriteValue64_v2, _ptsz, write_value<cuuint64_t>)

/// Pins `count` addresses, of which `address(n)` is the n-th.
template <class Address>
CUresult pin_each(const Call& call, std::size_t count, Address address, CUstream stream = nullptr) {
  const std::unique_ptr<CUdeviceptr[]> addresses(new (std::nothrow) CUdeviceptr[count]);
  if (addresses == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  for (std::size_t n = 0; n < count; ++n) addresses[n] = address(n);
  return on_pin_list(addresses.get(), count, call.on(stream), call.forward);
}

// Every operation of the union has its address at the same place. Some wait for values.
inline CUresult pin_operations(const Call& call, const CUstreamBatchMemOpParams* operations, unsigned count,
                               CUstream stream) {
  note_host_wait();
  const auto address = [&](std::size_t n) { return operations[n].waitValue.address; };
  return pin_each(call, operations == nullptr ? 0 : count, address, stream);
}
inline CUresult batch_operations(const Call& call, CUstream stream, unsigned count,
                                 CUstreamBatchMemOpParams* operations, unsigned) {
  return pin_operations(call, operations, count, stream);
}
TENSORPAGER_HOOKS(cuStreamBatchMemOp, _ptsz, batch_operations)
TENSORPAGER_HOOKS(cuStreamBatchMemOp_v2, _ptsz, batch_operations)

// Advice and movement of managed memory: where the address is ours, the driver meets it resident.
template <class Where>
CUresult advise(const Call& call, CUdeviceptr address, std::size_t, CUmem_advise, Where) {
  return on_pin({address}, call.on_null(), call.forward);
}
inline CUresult prefetch_v1(const Call& call, CUdeviceptr address, std::size_t, CUdevice, CUstream stream) {
  return on_pin({address}, call.on(stream), call.forward);
}
inline CUresult prefetch_v2(const Call& call, CUdeviceptr address, std::size_t, CUmemLocation, unsigned,
                            CUstream stream) {
  return on_pin({address}, call.on(stream), call.forward);
}
inline CUresult prefetch_batch(const Call& call, CUdeviceptr* addresses, std::size_t*, std::size_t count,
                               CUmemLocation*, std::size_t*, std::size_t, unsigned long long, CUstream stream) {
  return on_pin_list(addresses, addresses == nullptr ? 0 : count, call.on(stream), call.forward);
}
inline CUresult discard_batch(const Call& call, CUdeviceptr* addresses, std::size_t*, std::size_t count,
                              unsigned long long, CUstream stream) {
  return on_pin_list(addresses, addresses == nullptr ? 0 : count, call.on(stream), call.forward);
}
inline CUresult attach_memory(const Call& call, CUstream stream, CUdeviceptr address, std::size_t, unsigned) {
  return on_pin({address}, call.on(stream), call.forward);
}
TENSORPAGER_HOOK(cuMemAdvise, advise<CUdevice>)
TENSORPAGER_HOOK(cuMemAdvise_v2, advise<CUmemLocation>)
TENSORPAGER_HOOKS(cuMemPrefetchAsync, _ptsz, prefetch_v1)
TENSORPAGER_HOOKS(cuMemPrefetchAsync_v2, _ptsz, prefetch_v2)
TENSORPAGER_HOOKS(cuMemPrefetchBatchAsync, _ptsz, prefetch_batch)
TENSORPAGER_HOOKS(cuMemDiscardBatchAsync, _ptsz, discard_batch)
TENSORPAGER_HOOKS(cuMemDiscardAndPrefetchBatchAsync, _ptsz, prefetch_batch)
TENSORPAGER_HOOKS(cuStreamAttachMemAsync, _ptsz, attach_memory)

// Parameters as set before CUDA 4.0, read by a later cuLaunch: any aligned word may be an address.
inline CUresult set_params(const Call& call, CUfunction, int, void* bytes, unsigned count) {
  const auto word = [&](std::size_t n) {
    CUdeviceptr address = 0;
    std::memcpy(&address, static_cast<const char*>(bytes) + n * sizeof address, sizeof address);
    return address;
  };
  return pin_each(call, bytes == nullptr ? 0 : count / sizeof(CUdeviceptr), word);
}
TENSORPAGER_HOOK(cuParamSetv, set_params)

}  // namespace tensorpager
