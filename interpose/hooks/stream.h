#pragma once

#include "interpose/hook.h"

namespace tensorpager {

inline CUresult destroy_stream(const Call& call, CUstream stream) {
  return on_stream_destroy(stream, call.forward);
}
TENSORPAGER_HOOK(cuStreamDestroy, destroy_stream)
TENSORPAGER_HOOK(cuStreamDestroy_v2, destroy_stream)

inline CUresult host_function(const Call& call, CUstream stream, CUhostFn, void*) {
  return on_host_function(call.on(stream), call.forward);
}
inline CUresult stream_callback(const Call& call, CUstream stream, CUstreamCallback, void*, unsigned) {
  return on_host_function(call.on(stream), call.forward);
}
TENSORPAGER_HOOKS(cuLaunchHostFunc, _ptsz, host_function)
TENSORPAGER_HOOKS(cuStreamAddCallback, _ptsz, stream_callback)

inline CUresult begin_capture_v1(const Call& call, CUstream stream) {
  return on_begin_capture(call.on(stream), call.forward);
}
inline CUresult begin_capture(const Call& call, CUstream stream, CUstreamCaptureMode) {
  return on_begin_capture(call.on(stream), call.forward);
}
inline CUresult begin_capture_to_graph(const Call& call, CUstream stream, CUgraph, const CUgraphNode*,
                                       const CUgraphEdgeData*, std::size_t, CUstreamCaptureMode) {
  return on_begin_capture(call.on(stream), call.forward);
}
inline CUresult end_capture(const Call& call, CUstream stream, CUgraph*) {
  return on_end_capture(call.on(stream), call.forward);
}
TENSORPAGER_HOOKS(cuStreamBeginCapture, _ptsz, begin_capture_v1)
TENSORPAGER_HOOKS(cuStreamBeginCapture_v2, _ptsz, begin_capture)
TENSORPAGER_HOOKS(cuStreamBeginCaptureToGraph, _ptsz, begin_capture_to_graph)
TENSORPAGER_HOOKS(cuStreamEndCapture, _ptsz, end_capture)

inline CUresult synchronize(const Call& call) {
  return on_synchronize(call.forward);
}
inline CUresult synchronize_context(const Call& call, CUcontext) {
  return on_synchronize(call.forward);
}
inline CUresult synchronize_stream(const Call& call, CUstream) {
  return on_synchronize(call.forward);
}
inline CUresult synchronize_event(const Call& call, CUevent) {
  return on_synchronize(call.forward);
}
TENSORPAGER_HOOK(cuCtxSynchronize, synchronize)
TENSORPAGER_HOOK(cuCtxSynchronize_v2, synchronize_context)
TENSORPAGER_HOOKS(cuStreamSynchronize, _ptsz, synchronize_stream)
TENSORPAGER_HOOK(cuEventSynchronize, synchronize_event)

inline CUresult destroy_context(const Call& call, CUcontext context) {
  return on_context_gone(context, call.forward);
}
// A release may not be the last one: the runtime asks the driver.
inline CUresult drop_primary_context(const Call& call, CUdevice) {
  return on_context_gone(nullptr, call.forward);
}
TENSORPAGER_HOOK(cuCtxDestroy, destroy_context)
TENSORPAGER_HOOK(cuCtxDestroy_v2, destroy_context)
TENSORPAGER_HOOK(cuDevicePrimaryCtxRelease, drop_primary_context)
TENSORPAGER_HOOK(cuDevicePrimaryCtxRelease_v2, drop_primary_context)
TENSORPAGER_HOOK(cuDevicePrimaryCtxReset, drop_primary_context)
TENSORPAGER_HOOK(cuDevicePrimaryCtxReset_v2, drop_primary_context)

}  // namespace tensorpager
