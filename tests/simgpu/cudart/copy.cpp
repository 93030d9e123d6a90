#include <cuda_runtime_api.h>

#include "tests/simgpu/cudart/registry.h"
#include "tests/simgpu/cudart/stream_entry.h"

using namespace simgpu::cudart;

namespace {

CUdeviceptr address(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

/// A symbol's bytes [offset, offset + count), as an address.
cudaError_t symbol_range(const void* symbol, size_t count, size_t offset, CUdeviceptr& start) {
  Variable variable{};
  if (const cudaError_t error = find_variable(symbol, variable); error != cudaSuccess) return error;
  if (offset > variable.bytes || count > variable.bytes - offset) return cudaErrorInvalidValue;
  start = variable.address + offset;
  return cudaSuccess;
}

cudaError_t copy(const StreamFunctions& on, void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  if (bytes == 0) return cudaSuccess;
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return from_driver(on.cuMemcpyHtoD(address(to), from, bytes));
    case cudaMemcpyDeviceToHost:
      return from_driver(on.cuMemcpyDtoH(to, address(from), bytes));
    case cudaMemcpyDeviceToDevice:
      return from_driver(on.cuMemcpyDtoD(address(to), address(from), bytes));
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
      return from_driver(on.cuMemcpy(address(to), address(from), bytes));
  }
  return cudaErrorInvalidMemcpyDirection;
}

cudaError_t copy_async(const StreamFunctions& on, void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                       cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return from_driver(on.cuMemcpyHtoDAsync(address(to), from, bytes, stream));
    case cudaMemcpyDeviceToHost:
      return from_driver(on.cuMemcpyDtoHAsync(to, address(from), bytes, stream));
    case cudaMemcpyDeviceToDevice:
      return from_driver(on.cuMemcpyDtoDAsync(address(to), address(from), bytes, stream));
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
      return from_driver(on.cuMemcpyAsync(address(to), address(from), bytes, stream));
  }
  return cudaErrorInvalidMemcpyDirection;
}

CUmemorytype side_type(cudaMemcpyKind kind, bool destination) {
  if (kind == cudaMemcpyDefault) return CU_MEMORYTYPE_UNIFIED;
  const bool device =
      kind == cudaMemcpyDeviceToDevice || kind == (destination ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost);
  return device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

CUDA_MEMCPY2D rectangle(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                        cudaMemcpyKind kind) {
  CUDA_MEMCPY2D out{};
  out.srcMemoryType = side_type(kind, false);
  out.srcHost = from;
  out.srcDevice = address(from);
  out.srcPitch = from_pitch;
  out.dstMemoryType = side_type(kind, true);
  out.dstHost = to;
  out.dstDevice = address(to);
  out.dstPitch = to_pitch;
  out.WidthInBytes = width;
  out.Height = height;
  return out;
}

cudaError_t check_rectangle(size_t to_pitch, size_t from_pitch, size_t width, cudaMemcpyKind kind) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  return width > to_pitch || width > from_pitch ? cudaErrorInvalidPitchValue : cudaSuccess;
}

}  // namespace

SIMGPU_STREAM_ENTRY(cudaMemcpy, _ptds, (to, from, bytes, kind), void* to, const void* from, size_t bytes,
                    cudaMemcpyKind kind) {
  return copy(on, to, from, bytes, kind);
}

SIMGPU_STREAM_ENTRY(cudaMemcpyAsync, _ptsz, (to, from, bytes, kind, stream), void* to, const void* from, size_t bytes,
                    cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_async(on, to, from, bytes, kind, stream);
}

SIMGPU_STREAM_ENTRY(cudaMemcpy2D, _ptds, (to, to_pitch, from, from_pitch, width, height, kind), void* to,
                    size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                    cudaMemcpyKind kind) {
  if (const cudaError_t error = check_rectangle(to_pitch, from_pitch, width, kind); error != cudaSuccess) return error;
  const CUDA_MEMCPY2D parameters = rectangle(to, to_pitch, from, from_pitch, width, height, kind);
  return width == 0 || height == 0 ? cudaSuccess : from_driver(on.cuMemcpy2DUnaligned(&parameters));
}

SIMGPU_STREAM_ENTRY(cudaMemcpy2DAsync, _ptsz, (to, to_pitch, from, from_pitch, width, height, kind, stream), void* to,
                    size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                    cudaMemcpyKind kind, cudaStream_t stream) {
  if (const cudaError_t error = check_rectangle(to_pitch, from_pitch, width, kind); error != cudaSuccess) return error;
  const CUDA_MEMCPY2D parameters = rectangle(to, to_pitch, from, from_pitch, width, height, kind);
  return width == 0 || height == 0 ? cudaSuccess : from_driver(on.cuMemcpy2DAsync(&parameters, stream));
}

SIMGPU_STREAM_ENTRY(cudaMemset, _ptds, (pointer, value, bytes), void* pointer, int value, size_t bytes) {
  if (bytes == 0) return cudaSuccess;
  return from_driver(on.cuMemsetD8(address(pointer), static_cast<unsigned char>(value), bytes));
}

SIMGPU_STREAM_ENTRY(cudaMemsetAsync, _ptsz, (pointer, value, bytes, stream), void* pointer, int value, size_t bytes,
                    cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  return from_driver(on.cuMemsetD8Async(address(pointer), static_cast<unsigned char>(value), bytes, stream));
}

SIMGPU_STREAM_ENTRY(cudaMemset2D, _ptds, (pointer, pitch, value, width, height), void* pointer, size_t pitch, int value,
                    size_t width, size_t height) {
  if (width == 0 || height == 0) return cudaSuccess;
  return from_driver(on.cuMemsetD2D8(address(pointer), pitch, static_cast<unsigned char>(value), width, height));
}

SIMGPU_STREAM_ENTRY(cudaMemset2DAsync, _ptsz, (pointer, pitch, value, width, height, stream), void* pointer,
                    size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
  if (width == 0 || height == 0) return cudaSuccess;
  return from_driver(
      on.cuMemsetD2D8Async(address(pointer), pitch, static_cast<unsigned char>(value), width, height, stream));
}

SIMGPU_STREAM_ENTRY(cudaMemcpyToSymbol, _ptds, (symbol, from, count, offset, kind), const void* symbol,
                    const void* from, size_t count, size_t offset, cudaMemcpyKind kind) {
  CUdeviceptr start = 0;
  if (const cudaError_t error = symbol_range(symbol, count, offset, start); error != cudaSuccess) return error;
  return copy(on, reinterpret_cast<void*>(start), from, count, kind);
}

SIMGPU_STREAM_ENTRY(cudaMemcpyToSymbolAsync, _ptsz, (symbol, from, count, offset, kind, stream), const void* symbol,
                    const void* from, size_t count, size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  CUdeviceptr start = 0;
  if (const cudaError_t error = symbol_range(symbol, count, offset, start); error != cudaSuccess) return error;
  return copy_async(on, reinterpret_cast<void*>(start), from, count, kind, stream);
}

SIMGPU_STREAM_ENTRY(cudaMemcpyFromSymbol, _ptds, (to, symbol, count, offset, kind), void* to, const void* symbol,
                    size_t count, size_t offset, cudaMemcpyKind kind) {
  CUdeviceptr start = 0;
  if (const cudaError_t error = symbol_range(symbol, count, offset, start); error != cudaSuccess) return error;
  return copy(on, to, reinterpret_cast<void*>(start), count, kind);
}

SIMGPU_STREAM_ENTRY(cudaMemcpyFromSymbolAsync, _ptsz, (to, symbol, count, offset, kind, stream), void* to,
                    const void* symbol, size_t count, size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  CUdeviceptr start = 0;
  if (const cudaError_t error = symbol_range(symbol, count, offset, start); error != cudaSuccess) return error;
  return copy_async(on, to, reinterpret_cast<void*>(start), count, kind, stream);
}

extern "C" {

cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
  return with_context([&] { return symbol_range(symbol, 0, 0, *reinterpret_cast<CUdeviceptr*>(pointer)); });
}

cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  return with_context([&] {
    Variable variable{};
    const cudaError_t error = find_variable(symbol, variable);
    if (error == cudaSuccess) *bytes = variable.bytes;
    return error;
  });
}
}
