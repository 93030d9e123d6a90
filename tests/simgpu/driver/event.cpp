// Events. They report virtual time.

#include <cuda.h>

#include "tests/simgpu/driver/call.h"

namespace simgpu {
namespace {

constexpr unsigned kFlags = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING;

template <class Body>
CUresult with_event(Entry entry, CUevent handle, CostMember cost, Body body) {
  return api(entry, Needs::context, cost, [&](Call& call) {
    const auto event = call.driver().events.find(handle);
    return event ? body(call, *event) : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult record(Entry entry, CUevent handle, CUstream stream_handle, unsigned flags) {
  return with_event(entry, handle, &ApiCosts::event, [&](Call& call, Event& event) {
    Stream* const stream = call.stream(stream_handle);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    if (flags > CU_EVENT_RECORD_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
    call.device().scheduler.record(*stream, event);
    return CUDA_SUCCESS;
  });
}

CUresult record_plain(Entry entry, CUevent event, CUstream stream) {
  return record(entry, event, stream, 0);
}

CUresult wait(Entry entry, CUstream stream_handle, CUevent handle, unsigned flags) {
  return with_event(entry, handle, &ApiCosts::event, [&](Call& call, Event& event) {
    Stream* const stream = call.stream(stream_handle);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    if (flags > CU_EVENT_WAIT_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
    call.device().scheduler.wait_for_event(*stream, event);
    return CUDA_SUCCESS;
  });
}

CUresult destroy(const char* name, CUevent handle) {
  return api({name}, [&](Call& call) {
    return call.driver().events.remove(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult elapsed(const char* name, float* out, CUevent start_handle, CUevent end_handle) {
  return api({name}, [&](Call& call) {
    const auto start = call.driver().events.find(start_handle), end = call.driver().events.find(end_handle);
    if (!start || !end || !start->timed || !end->timed || !start->op || !end->op) return CUDA_ERROR_INVALID_HANDLE;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    Scheduler& scheduler = call.device().scheduler;
    if (!scheduler.poll(start->op) || !scheduler.poll(end->op)) return CUDA_ERROR_NOT_READY;
    *out = static_cast<float>((static_cast<double>(end->op->end) - static_cast<double>(start->op->end)) / 1e6);
    return CUDA_SUCCESS;
  });
}

}  // namespace

extern "C" {

CUresult cuEventCreate(CUevent* out, unsigned flags) {
  return api({__func__}, [&](Call& call) {
    call.log("flags", flags);
    if (!out || (flags & ~(kFlags | CU_EVENT_INTERPROCESS)) != 0) return CUDA_ERROR_INVALID_VALUE;
    if (flags & CU_EVENT_INTERPROCESS) return CUDA_ERROR_NOT_SUPPORTED;
    auto event =
        std::make_shared<Event>(Event{.context = &call.context(), .timed = (flags & CU_EVENT_DISABLE_TIMING) == 0});
    *out = call.driver().events.add<CUevent>(std::move(event));
    return CUDA_SUCCESS;
  });
}

CUresult cuEventDestroy(CUevent event) {
  return destroy(__func__, event);
}
CUresult cuEventDestroy_v2(CUevent event) {
  return destroy(__func__, event);
}

SIMGPU_BOTH(cuEventRecord, _ptsz, record_plain, (CUevent event, CUstream stream), event, stream)
SIMGPU_BOTH(cuEventRecordWithFlags, _ptsz, record, (CUevent event, CUstream stream, unsigned flags), event, stream,
            flags)
SIMGPU_BOTH(cuStreamWaitEvent, _ptsz, wait, (CUstream stream, CUevent event, unsigned flags), stream, event, flags)

CUresult cuEventQuery(CUevent handle) {
  return with_event({__func__}, handle, &ApiCosts::query, [](Call& call, Event& event) {
    const bool done = call.device().scheduler.poll(event.op);
    if (call.outcome() != CUDA_SUCCESS) return call.outcome();
    return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

CUresult cuEventSynchronize(CUevent handle) {
  return with_event({__func__}, handle, &ApiCosts::synchronize, [](Call& call, Event& event) {
    call.device().scheduler.wait(event.op);
    call.device().trim_pools();
    return call.outcome();
  });
}

CUresult cuEventElapsedTime(float* out, CUevent start, CUevent end) {
  return elapsed(__func__, out, start, end);
}
CUresult cuEventElapsedTime_v2(float* out, CUevent start, CUevent end) {
  return elapsed(__func__, out, start, end);
}

}  // extern "C"
}  // namespace simgpu
