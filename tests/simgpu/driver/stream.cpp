// Streams, host functions, and the answers of a driver that never captures.

#include <cuda.h>

#include "tests/simgpu/driver/call.h"

namespace simgpu {
namespace {

constexpr int kLeastPriority = 0, kGreatestPriority = -5;

CUresult create(const char* name, CUstream* out, unsigned flags, int priority) {
  return api({name}, [&](Call& call) {
    call.log("flags", flags);
    if (!out || (flags & ~unsigned{CU_STREAM_NON_BLOCKING}) != 0) return CUDA_ERROR_INVALID_VALUE;
    const StreamRef stream = call.device().add_stream(call.context());
    stream->non_blocking = (flags & CU_STREAM_NON_BLOCKING) != 0;
    stream->priority = std::clamp(priority, kGreatestPriority, kLeastPriority);
    call.log("stream", stream->ordinal);
    *out = call.driver().streams.add<CUstream>(stream);
    return CUDA_SUCCESS;
  });
}

// What is queued runs on: the context keeps the stream until then.
CUresult destroy(const char* name, CUstream handle) {
  return api({name}, [&](Call& call) {
    const auto stream = call.driver().streams.find(handle);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    call.log("stream", stream->ordinal);
    stream->destroyed = true;
    call.driver().streams.remove(handle);
    return CUDA_SUCCESS;
  });
}

template <class Body>
CUresult with_stream(Entry entry, CUstream handle, CostMember cost, Body body) {
  return api(entry, Needs::context, cost, [&](Call& call) {
    Stream* const stream = call.stream(handle);
    return stream ? body(call, *stream) : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult synchronize(Entry entry, CUstream handle) {
  return with_stream(entry, handle, &ApiCosts::synchronize, [](Call& call, Stream& stream) {
    call.device().scheduler.wait_for_stream(stream);
    call.device().trim_pools();
    return call.outcome();
  });
}

CUresult query(Entry entry, CUstream handle) {
  return with_stream(entry, handle, &ApiCosts::query, [](Call& call, Stream& stream) {
    const bool done = call.device().scheduler.poll(OpRef(stream.tail));
    if (call.outcome() != CUDA_SUCCESS) return call.outcome();
    return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

template <class Value, class Get>
CUresult ask(Entry entry, CUstream handle, Value* out, Get get) {
  return with_stream(entry, handle, &ApiCosts::call, [&](Call&, Stream& stream) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    *out = static_cast<Value>(get(stream));
    return CUDA_SUCCESS;
  });
}

CUresult flags_of(Entry entry, CUstream handle, unsigned* out) {
  return ask(entry, handle, out, [](const Stream& stream) { return stream.non_blocking ? CU_STREAM_NON_BLOCKING : 0; });
}
CUresult priority_of(Entry entry, CUstream handle, int* out) {
  return ask(entry, handle, out, [](const Stream& stream) { return stream.priority; });
}
CUresult id_of(Entry entry, CUstream handle, unsigned long long* out) {
  return ask(entry, handle, out, [](const Stream& stream) { return stream.ordinal + 1; });
}
CUresult device_of(Entry entry, CUstream handle, CUdevice* out) {
  return ask(entry, handle, out, [](const Stream&) { return 0; });
}
CUresult context_of(Entry entry, CUstream handle, CUcontext* out) {
  return with_stream(entry, handle, &ApiCosts::call, [&](Call&, Stream& stream) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    *out = reinterpret_cast<CUcontext>(stream.context);
    return CUDA_SUCCESS;
  });
}
CUresult context_of_v2(Entry entry, CUstream handle, CUcontext* out, CUgreenCtx* green) {
  if (green) *green = nullptr;
  return context_of(entry, handle, out);
}

tl::expected<Cost, Fault> call_back(Device& device, const std::function<void()>& function) {
  device.scheduler.call_host([&] {
    ThreadState& thread = this_thread();
    thread.in_host_function = true;
    function();
    thread.in_host_function = false;
  });
  return Cost{device.profile.host_function, 0};
}

void submit_host(Call& call, Stream& stream, std::function<void()> function) {
  Device& device = call.device();
  device.scheduler.submit(stream, {OpKind::host_function, Engine::none,
                                   [&device, function = std::move(function)] { return call_back(device, function); }});
}

CUresult launch_host(Entry entry, CUstream handle, CUhostFn function, void* data) {
  return with_stream(entry, handle, &ApiCosts::launch, [&](Call& call, Stream& stream) {
    if (!function) return CUDA_ERROR_INVALID_VALUE;
    submit_host(call, stream, [function, data] { function(data); });
    return CUDA_SUCCESS;
  });
}

CUresult add_callback(Entry entry, CUstream handle, CUstreamCallback function, void* data, unsigned flags) {
  return with_stream(entry, handle, &ApiCosts::launch, [&](Call& call, Stream& stream) {
    if (!function || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    submit_host(call, stream, [handle, function, data] { function(handle, CUDA_SUCCESS, data); });
    return CUDA_SUCCESS;
  });
}

CUresult is_capturing(Entry entry, CUstream handle, CUstreamCaptureStatus* out) {
  return ask(entry, handle, out, [](const Stream&) { return CU_STREAM_CAPTURE_STATUS_NONE; });
}

template <class... Ignored>
CUresult capture_info(Entry entry, CUstream handle, CUstreamCaptureStatus* out, Ignored...) {
  return is_capturing(entry, handle, out);
}

template <class... Ignored>
CUresult no_capture(Entry entry, CUstream handle, Ignored...) {
  return with_stream(entry, handle, &ApiCosts::call, [](Call&, Stream&) { return CUDA_ERROR_NOT_SUPPORTED; });
}

}  // namespace

extern "C" {

CUresult cuStreamCreate(CUstream* out, unsigned flags) {
  return create(__func__, out, flags, 0);
}
CUresult cuStreamCreateWithPriority(CUstream* out, unsigned flags, int priority) {
  return create(__func__, out, flags, priority);
}
CUresult cuStreamDestroy(CUstream stream) {
  return destroy(__func__, stream);
}
CUresult cuStreamDestroy_v2(CUstream stream) {
  return destroy(__func__, stream);
}

SIMGPU_BOTH(cuStreamSynchronize, _ptsz, synchronize, (CUstream stream), stream)
SIMGPU_BOTH(cuStreamQuery, _ptsz, query, (CUstream stream), stream)
SIMGPU_BOTH(cuStreamGetFlags, _ptsz, flags_of, (CUstream stream, unsigned* out), stream, out)
SIMGPU_BOTH(cuStreamGetPriority, _ptsz, priority_of, (CUstream stream, int* out), stream, out)
SIMGPU_BOTH(cuStreamGetId, _ptsz, id_of, (CUstream stream, unsigned long long* out), stream, out)
SIMGPU_BOTH(cuStreamGetDevice, _ptsz, device_of, (CUstream stream, CUdevice* out), stream, out)
SIMGPU_BOTH(cuStreamGetCtx, _ptsz, context_of, (CUstream stream, CUcontext* out), stream, out)
SIMGPU_BOTH(cuStreamGetCtx_v2, _ptsz, context_of_v2, (CUstream stream, CUcontext* out, CUgreenCtx* green), stream, out,
            green)
SIMGPU_BOTH(cuLaunchHostFunc, _ptsz, launch_host, (CUstream stream, CUhostFn function, void* data), stream, function,
            data)
SIMGPU_BOTH(cuStreamAddCallback, _ptsz, add_callback,
            (CUstream stream, CUstreamCallback function, void* data, unsigned flags), stream, function, data, flags)

SIMGPU_BOTH(cuStreamIsCapturing, _ptsz, is_capturing, (CUstream stream, CUstreamCaptureStatus* out), stream, out)
SIMGPU_BOTH(cuStreamGetCaptureInfo, _ptsz, capture_info, (CUstream stream, CUstreamCaptureStatus* out, cuuint64_t* id),
            stream, out, id)
SIMGPU_BOTH(cuStreamGetCaptureInfo_v2, _ptsz, capture_info,
            (CUstream stream, CUstreamCaptureStatus* out, cuuint64_t* id, CUgraph* graph, const CUgraphNode** nodes,
             size_t* count),
            stream, out, id, graph, nodes, count)
SIMGPU_BOTH(cuStreamGetCaptureInfo_v3, _ptsz, capture_info,
            (CUstream stream, CUstreamCaptureStatus* out, cuuint64_t* id, CUgraph* graph, const CUgraphNode** nodes,
             const CUgraphEdgeData** edges, size_t* count),
            stream, out, id, graph, nodes, edges, count)
SIMGPU_BOTH(cuStreamBeginCapture, _ptsz, no_capture, (CUstream stream), stream)
SIMGPU_BOTH(cuStreamBeginCapture_v2, _ptsz, no_capture, (CUstream stream, CUstreamCaptureMode mode), stream, mode)
SIMGPU_BOTH(cuStreamEndCapture, _ptsz, no_capture, (CUstream stream, CUgraph* graph), stream, graph)

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return api({__func__}, Needs::driver, &ApiCosts::none, [&](Call& call) {
    if (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
    std::swap(*mode, call.thread().capture_mode);
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
}  // namespace simgpu
