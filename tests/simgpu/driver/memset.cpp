// Memsets of all widths. On device memory they only queue, in the synchronous form too.

#include <cuda.h>

#include "tests/simgpu/device/copy.h"
#include "tests/simgpu/driver/call.h"

namespace simgpu {
namespace {

CUresult fill(Entry entry, const Fill& fill, CUstream handle, bool returns_when_queued) {
  return api(entry, Needs::context, &ApiCosts::copy, [&](Call& call) {
    call.log("bytes", fill.width * fill.element_bytes * fill.height);
    call.log_address("to", fill.address);
    Stream* const stream = call.stream(handle);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    const bool aligned = fill.address % fill.element_bytes == 0 && fill.pitch % fill.element_bytes == 0;
    if (!aligned || !Window::contains(fill.address)) return CUDA_ERROR_INVALID_VALUE;
    if (fill.width == 0 || fill.height == 0) return CUDA_SUCCESS;
    const OpRef op = call.device().submit_fill(*stream, fill);
    if (returns_when_queued || call.device().place_of(fill.address) == Place::device) return CUDA_SUCCESS;
    call.device().scheduler.wait(op);
    return call.outcome();
  });
}

template <class Element>
CUresult row(Entry entry, CUdeviceptr to, Element value, size_t count) {
  return fill(entry, {to, 0, count, 1, value, sizeof(Element)}, nullptr, false);
}

template <class Element>
CUresult row_async(Entry entry, CUdeviceptr to, Element value, size_t count, CUstream stream) {
  return fill(entry, {to, 0, count, 1, value, sizeof(Element)}, stream, true);
}

template <class Element>
CUresult rows(Entry entry, CUdeviceptr to, size_t pitch, Element value, size_t width, size_t height) {
  return fill(entry, {to, pitch, width, height, value, sizeof(Element)}, nullptr, false);
}

template <class Element>
CUresult rows_async(Entry entry, CUdeviceptr to, size_t pitch, Element value, size_t width, size_t height,
                    CUstream stream) {
  return fill(entry, {to, pitch, width, height, value, sizeof(Element)}, stream, true);
}

}  // namespace

extern "C" {

#define SIMGPU_MEMSET(bits, Element)                                                                                  \
  SIMGPU_BOTH(cuMemsetD##bits##_v2, _ptds, row, (CUdeviceptr to, Element value, size_t count), to, value, count)      \
  SIMGPU_BOTH(cuMemsetD##bits##Async, _ptsz, row_async,                                                               \
              (CUdeviceptr to, Element value, size_t count, CUstream stream), to, value, count, stream)               \
  SIMGPU_BOTH(cuMemsetD2D##bits##_v2, _ptds, rows,                                                                    \
              (CUdeviceptr to, size_t pitch, Element value, size_t width, size_t height), to, pitch, value, width,    \
              height)                                                                                                 \
  SIMGPU_BOTH(cuMemsetD2D##bits##Async, _ptsz, rows_async,                                                            \
              (CUdeviceptr to, size_t pitch, Element value, size_t width, size_t height, CUstream stream), to, pitch, \
              value, width, height, stream)

SIMGPU_MEMSET(8, unsigned char)
SIMGPU_MEMSET(16, unsigned short)
SIMGPU_MEMSET(32, unsigned int)

#undef SIMGPU_MEMSET

}  // extern "C"
}  // namespace simgpu
