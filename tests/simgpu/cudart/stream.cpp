#include <cuda_runtime_api.h>

#include <memory>

#include "tests/simgpu/cudart/stream_entry.h"

using namespace simgpu::cudart;

namespace {

struct Callback {
  cudaStreamCallback_t function;
  void* data;
};

void CUDA_CB run_callback(CUstream stream, CUresult status, void* data) {
  const std::unique_ptr<Callback> callback(static_cast<Callback*>(data));
  callback->function(stream, from_driver(status), callback->data);
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return forward(driver().cuStreamCreate, stream, 0u);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return forward(driver().cuStreamCreate, stream, flags);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return forward(driver().cuStreamCreateWithPriority, stream, flags, priority);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return forward(driver().cuStreamDestroy, stream);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return forward(driver().cuThreadExchangeStreamCaptureMode, reinterpret_cast<CUstreamCaptureMode*>(mode));
}
}

SIMGPU_STREAM_ENTRY(cudaStreamSynchronize, _ptsz, (stream), cudaStream_t stream) {
  return from_driver(on.cuStreamSynchronize(stream));
}

SIMGPU_STREAM_ENTRY(cudaStreamQuery, _ptsz, (stream), cudaStream_t stream) {
  return from_driver(on.cuStreamQuery(stream));
}

SIMGPU_STREAM_ENTRY(cudaStreamWaitEvent, _ptsz, (stream, event, flags), cudaStream_t stream, cudaEvent_t event,
                    unsigned flags) {
  return from_driver(on.cuStreamWaitEvent(stream, event, flags));
}

SIMGPU_STREAM_ENTRY(cudaStreamGetPriority, _ptsz, (stream, priority), cudaStream_t stream, int* priority) {
  return from_driver(on.cuStreamGetPriority(stream, priority));
}

SIMGPU_STREAM_ENTRY(cudaStreamGetFlags, _ptsz, (stream, flags), cudaStream_t stream, unsigned* flags) {
  return from_driver(on.cuStreamGetFlags(stream, flags));
}

SIMGPU_STREAM_ENTRY(cudaStreamGetId, _ptsz, (stream, id), cudaStream_t stream, unsigned long long* id) {
  return from_driver(on.cuStreamGetId(stream, id));
}

SIMGPU_STREAM_ENTRY(cudaStreamIsCapturing, _ptsz, (stream, status), cudaStream_t stream,
                    cudaStreamCaptureStatus* status) {
  return from_driver(on.cuStreamIsCapturing(stream, reinterpret_cast<CUstreamCaptureStatus*>(status)));
}

SIMGPU_STREAM_ENTRY(cudaStreamAddCallback, _ptsz, (stream, function, data, flags), cudaStream_t stream,
                    cudaStreamCallback_t function, void* data, unsigned flags) {
  auto callback = std::make_unique<Callback>(Callback{function, data});
  const CUresult result = on.cuStreamAddCallback(stream, run_callback, callback.get(), flags);
  if (result == CUDA_SUCCESS) callback.release();  // run_callback owns it
  return from_driver(result);
}
