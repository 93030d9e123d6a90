#pragma once

#include <memory>
#include <new>

#include "interpose/hook.h"

namespace tensorpager {

// Unified addresses: either may be host memory.
inline CUresult copy(const Call& call, CUdeviceptr to, CUdeviceptr from, std::size_t) {
  return on_copy(OpKind::copy, {to, from}, call.on_null(), call.forward);
}
inline CUresult copy_async(const Call& call, CUdeviceptr to, CUdeviceptr from, std::size_t, CUstream stream) {
  return on_copy(OpKind::copy, {to, from}, call.on(stream), call.forward);
}
TENSORPAGER_HOOKS(cuMemcpy, _ptds, copy)
TENSORPAGER_HOOKS(cuMemcpyAsync, _ptsz, copy_async)
TENSORPAGER_HOOKS(cuMemcpyDtoD_v2, _ptds, copy)
TENSORPAGER_HOOKS(cuMemcpyDtoDAsync_v2, _ptsz, copy_async)

inline CUresult copy_to_device(const Call& call, CUdeviceptr to, const void*, std::size_t) {
  return on_copy(OpKind::copy, {to}, call.on_null(), call.forward);
}
inline CUresult copy_to_device_async(const Call& call, CUdeviceptr to, const void*, std::size_t, CUstream stream) {
  return on_copy(OpKind::copy, {to}, call.on(stream), call.forward);
}
TENSORPAGER_HOOKS(cuMemcpyHtoD_v2, _ptds, copy_to_device)
TENSORPAGER_HOOKS(cuMemcpyHtoDAsync_v2, _ptsz, copy_to_device_async)

inline CUresult copy_to_host(const Call& call, void*, CUdeviceptr from, std::size_t) {
  return on_copy(OpKind::copy, {from}, call.on_null(), call.forward);
}
inline CUresult copy_to_host_async(const Call& call, void*, CUdeviceptr from, std::size_t, CUstream stream) {
  return on_copy(OpKind::copy, {from}, call.on(stream), call.forward);
}
TENSORPAGER_HOOKS(cuMemcpyDtoH_v2, _ptds, copy_to_host)
TENSORPAGER_HOOKS(cuMemcpyDtoHAsync_v2, _ptsz, copy_to_host_async)

inline CUresult copy_peer(const Call& call, CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, std::size_t) {
  return on_copy(OpKind::copy, {to, from}, call.on_null(), call.forward);
}
inline CUresult copy_peer_async(const Call& call, CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, std::size_t,
                                CUstream stream) {
  return on_copy(OpKind::copy, {to, from}, call.on(stream), call.forward);
}
TENSORPAGER_HOOKS(cuMemcpyPeer, _ptds, copy_peer)
TENSORPAGER_HOOKS(cuMemcpyPeerAsync, _ptsz, copy_peer_async)

// Arrays are not managed; a copy between them is an op all the same.
inline CUresult copy_array_to_device(const Call& call, CUdeviceptr to, CUarray, std::size_t, std::size_t) {
  return on_copy(OpKind::copy, {to}, call.on_null(), call.forward);
}
inline CUresult copy_device_to_array(const Call& call, CUarray, std::size_t, CUdeviceptr from, std::size_t) {
  return on_copy(OpKind::copy, {from}, call.on_null(), call.forward);
}
inline CUresult copy_arrays(const Call& call, CUarray, std::size_t, CUarray, std::size_t, std::size_t) {
  return on_copy(OpKind::copy, {}, call.on_null(), call.forward);
}
inline CUresult copy_array_to_host(const Call& call, void*, CUarray, std::size_t, std::size_t) {
  return on_copy(OpKind::copy, {}, call.on_null(), call.forward);
}
inline CUresult copy_host_to_array(const Call& call, CUarray, std::size_t, const void*, std::size_t) {
  return on_copy(OpKind::copy, {}, call.on_null(), call.forward);
}
inline CUresult copy_array_to_host_async(const Call& call, void*, CUarray, std::size_t, std::size_t, CUstream stream) {
  return on_copy(OpKind::copy, {}, call.on(stream), call.forward);
}
inline CUresult copy_host_to_array_async(const Call& call, CUarray, std::size_t, const void*, std::size_t,
                                         CUstream stream) {
  return on_copy(OpKind::copy, {}, call.on(stream), call.forward);
}
TENSORPAGER_HOOKS(cuMemcpyAtoD_v2, _ptds, copy_array_to_device)
TENSORPAGER_HOOKS(cuMemcpyDtoA_v2, _ptds, copy_device_to_array)
TENSORPAGER_HOOKS(cuMemcpyAtoA_v2, _ptds, copy_arrays)
TENSORPAGER_HOOKS(cuMemcpyAtoH_v2, _ptds, copy_array_to_host)
TENSORPAGER_HOOKS(cuMemcpyHtoA_v2, _ptds, copy_host_to_array)
TENSORPAGER_HOOKS(cuMemcpyAtoHAsync_v2, _ptsz, copy_array_to_host_async)
TENSORPAGER_HOOKS(cuMemcpyHtoAAsync_v2, _ptsz, copy_host_to_array_async)

// Rectangles and boxes. A field that its memory type leaves unused holds anything.
inline CUdeviceptr device_side(CUmemorytype type, CUdeviceptr address) noexcept {
  return type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED ? address : 0;
}

template <class Box>
CUresult copy_box_on(const Call& call, const Box* box, CUstream stream) {
  if (box == nullptr) return call.forward();
  return on_copy(OpKind::copy,
                 {device_side(box->dstMemoryType, box->dstDevice), device_side(box->srcMemoryType, box->srcDevice)},
                 call.on(stream), call.forward);
}
template <class Box>
CUresult copy_box(const Call& call, const Box* box) {
  return copy_box_on(call, box, nullptr);
}
template <class Box>
CUresult copy_box_async(const Call& call, const Box* box, CUstream stream) {
  return copy_box_on(call, box, stream);
}
TENSORPAGER_HOOKS(cuMemcpy2D_v2, _ptds, copy_box<CUDA_MEMCPY2D>)
TENSORPAGER_HOOKS(cuMemcpy2DUnaligned_v2, _ptds, copy_box<CUDA_MEMCPY2D>)
TENSORPAGER_HOOKS(cuMemcpy2DAsync_v2, _ptsz, copy_box_async<CUDA_MEMCPY2D>)
TENSORPAGER_HOOKS(cuMemcpy3D_v2, _ptds, copy_box<CUDA_MEMCPY3D>)
TENSORPAGER_HOOKS(cuMemcpy3DAsync_v2, _ptsz, copy_box_async<CUDA_MEMCPY3D>)
TENSORPAGER_HOOKS(cuMemcpy3DPeer, _ptds, copy_box<CUDA_MEMCPY3D_PEER>)
TENSORPAGER_HOOKS(cuMemcpy3DPeerAsync, _ptsz, copy_box_async<CUDA_MEMCPY3D_PEER>)

// Batches. CUDA 12.8 has a parameter for the index that failed, 13.0 has not.
inline CUresult copy_batch(const Call& call, CUdeviceptr* to, CUdeviceptr* from, std::size_t count, CUstream stream) {
  const CUdeviceptr* const lists[] = {to, from};
  return on_copy_list(lists, 2, to != nullptr && from != nullptr ? count : 0, call.on(stream), call.forward);
}
inline CUresult copy_batch_v1(const Call& call, CUdeviceptr* to, CUdeviceptr* from, std::size_t*, std::size_t count,
                              CUmemcpyAttributes*, std::size_t*, std::size_t, std::size_t*, CUstream stream) {
  return copy_batch(call, to, from, count, stream);
}
inline CUresult copy_batch_v2(const Call& call, CUdeviceptr* to, CUdeviceptr* from, std::size_t*, std::size_t count,
                              CUmemcpyAttributes*, std::size_t*, std::size_t, CUstream stream) {
  return copy_batch(call, to, from, count, stream);
}
TENSORPAGER_HOOKS(cuMemcpyBatchAsync, _ptsz, copy_batch_v1)
TENSORPAGER_HOOKS(cuMemcpyBatchAsync_v2, _ptsz, copy_batch_v2)

/// Tells a batch whose addresses lie in an array of structures: `name(item, n)` is the n-th address of an item.
template <class Item, class Name>
CUresult copy_items(const Call& call, const Item* items, std::size_t item_count, std::size_t each, Name name,
                    CUstream stream) {
  const std::size_t count = items == nullptr ? 0 : item_count * each;
  const std::unique_ptr<CUdeviceptr[]> addresses(new (std::nothrow) CUdeviceptr[count]);
  if (addresses == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  for (std::size_t i = 0; i < count; ++i) addresses[i] = name(items[i / each], i % each);
  const CUdeviceptr* const lists[] = {addresses.get()};
  return on_copy_list(lists, 1, count, call.on(stream), call.forward);
}

inline CUdeviceptr address_of(const CUmemcpy3DOperand& operand) noexcept {
  return operand.type == CU_MEMCPY_OPERAND_TYPE_POINTER ? operand.op.ptr.ptr : 0;
}
inline CUresult copy_boxes_v2(const Call& call, std::size_t count, CUDA_MEMCPY3D_BATCH_OP* boxes, unsigned long long,
                              CUstream stream) {
  const auto name = [](const CUDA_MEMCPY3D_BATCH_OP& box, std::size_t n) {
    return address_of(n == 0 ? box.dst : box.src);
  };
  return copy_items(call, boxes, count, 2, name, stream);
}
inline CUresult copy_boxes_v1(const Call& call, std::size_t count, CUDA_MEMCPY3D_BATCH_OP* boxes, std::size_t*,
                              unsigned long long flags, CUstream stream) {
  return copy_boxes_v2(call, count, boxes, flags, stream);
}
TENSORPAGER_HOOKS(cuMemcpy3DBatchAsync, _ptsz, copy_boxes_v1)
TENSORPAGER_HOOKS(cuMemcpy3DBatchAsync_v2, _ptsz, copy_boxes_v2)

inline CUresult decompress_batch(const Call& call, CUmemDecompressParams* items, std::size_t count, unsigned,
                                 std::size_t*, CUstream stream) {
  const auto name = [](const CUmemDecompressParams& item, std::size_t n) {
    const void* const addresses[] = {item.src, item.dst, item.dstActBytes};
    return reinterpret_cast<CUdeviceptr>(addresses[n]);
  };
  return copy_items(call, items, count, 3, name, stream);
}
TENSORPAGER_HOOKS(cuMemBatchDecompressAsync, _ptsz, decompress_batch)

}  // namespace tensorpager
