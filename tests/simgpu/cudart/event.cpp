#include <cuda_runtime_api.h>

#include "tests/simgpu/cudart/stream_entry.h"

using namespace simgpu::cudart;

extern "C" {

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return forward(driver().cuEventCreate, event, 0u);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return forward(driver().cuEventCreate, event, flags);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return forward(driver().cuEventDestroy, event);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return forward(driver().cuEventQuery, event);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return forward(driver().cuEventSynchronize, event);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return forward(driver().cuEventElapsedTime, milliseconds, start, end);
}
}

SIMGPU_STREAM_ENTRY(cudaEventRecord, _ptsz, (event, stream), cudaEvent_t event, cudaStream_t stream) {
  return from_driver(on.cuEventRecord(event, stream));
}

SIMGPU_STREAM_ENTRY(cudaEventRecordWithFlags, _ptsz, (event, stream, flags), cudaEvent_t event, cudaStream_t stream,
                    unsigned flags) {
  return from_driver(on.cuEventRecordWithFlags(event, stream, flags));
}
