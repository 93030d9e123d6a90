#pragma once

#include "tests/simgpu/cudart/context.h"

/// Defines NAME and NAME##SUFFIX (_ptsz, or _ptds for those without a stream argument), which differ in the driver
/// variants they call. The body that follows gets them as `on`, runs with a context, and returns a cudaError_t.
///
///   SIMGPU_STREAM_ENTRY(cudaStreamQuery, _ptsz, (stream), cudaStream_t stream) { return
///   from_driver(on.cuStreamQuery(stream)); }
#define SIMGPU_STREAM_ENTRY(NAME, SUFFIX, ARGUMENTS, ...)                                                           \
  static cudaError_t NAME##_on(const simgpu::cudart::StreamFunctions& on, __VA_ARGS__);                             \
  extern "C" cudaError_t NAME(__VA_ARGS__) {                                                                        \
    return simgpu::cudart::with_context([&] { return NAME##_on(SIMGPU_PREPEND(driver().legacy, ARGUMENTS)); });     \
  }                                                                                                                 \
  extern "C" cudaError_t NAME##SUFFIX(__VA_ARGS__) {                                                                \
    return simgpu::cudart::with_context([&] { return NAME##_on(SIMGPU_PREPEND(driver().per_thread, ARGUMENTS)); }); \
  }                                                                                                                 \
  static cudaError_t NAME##_on([[maybe_unused]] const simgpu::cudart::StreamFunctions& on, __VA_ARGS__)

#define SIMGPU_PREPEND(FIRST, ARGUMENTS) FIRST, SIMGPU_UNWRAP ARGUMENTS
#define SIMGPU_UNWRAP(...) __VA_ARGS__
