#pragma once

#include "interpose/hook.h"

namespace tensorpager {

template <class Value>
CUresult set(const Call& call, CUdeviceptr to, Value, std::size_t) {
  return on_copy(OpKind::memset, {to}, call.on_null(), call.forward);
}
TENSORPAGER_HOOKS(cuMemsetD8_v2, _ptds, set<unsigned char>)
TENSORPAGER_HOOKS(cuMemsetD16_v2, _ptds, set<unsigned short>)
TENSORPAGER_HOOKS(cuMemsetD32_v2, _ptds, set<unsigned>)

template <class Value>
CUresult set_async(const Call& call, CUdeviceptr to, Value, std::size_t, CUstream stream) {
  return on_copy(OpKind::memset, {to}, call.on(stream), call.forward);
}
TENSORPAGER_HOOKS(cuMemsetD8Async, _ptsz, set_async<unsigned char>)
TENSORPAGER_HOOKS(cuMemsetD16Async, _ptsz, set_async<unsigned short>)
TENSORPAGER_HOOKS(cuMemsetD32Async, _ptsz, set_async<unsigned>)

template <class Value>
CUresult set_2d(const Call& call, CUdeviceptr to, std::size_t, Value, std::size_t, std::size_t) {
  return on_copy(OpKind::memset, {to}, call.on_null(), call.forward);
}
TENSORPAGER_HOOKS(cuMemsetD2D8_v2, _ptds, set_2d<unsigned char>)
TENSORPAGER_HOOKS(cuMemsetD2D16_v2, _ptds, set_2d<unsigned short>)
TENSORPAGER_HOOKS(cuMemsetD2D32_v2, _ptds, set_2d<unsigned>)

template <class Value>
CUresult set_2d_async(const Call& call, CUdeviceptr to, std::size_t, Value, std::size_t, std::size_t, CUstream stream) {
  return on_copy(OpKind::memset, {to}, call.on(stream), call.forward);
}
TENSORPAGER_HOOKS(cuMemsetD2D8Async, _ptsz, set_2d_async<unsigned char>)
TENSORPAGER_HOOKS(cuMemsetD2D16Async, _ptsz, set_2d_async<unsigned short>)
TENSORPAGER_HOOKS(cuMemsetD2D32Async, _ptsz, set_2d_async<unsigned>)

}  // namespace tensorpager
