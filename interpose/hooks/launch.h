#pragma once

#include "interpose/hook.h"

namespace tensorpager {

inline CUresult launch_kernel(const Call& call, CUfunction function, unsigned, unsigned, unsigned, unsigned, unsigned,
                              unsigned, unsigned, CUstream stream, void** params, void** extra) {
  return on_launch(function, params, extra, call.on(stream), call.forward);
}
TENSORPAGER_HOOKS(cuLaunchKernel, _ptsz, launch_kernel)

inline CUresult launch_cooperative(const Call& call, CUfunction function, unsigned, unsigned, unsigned, unsigned,
                                   unsigned, unsigned, unsigned, CUstream stream, void** params) {
  return on_launch(function, params, nullptr, call.on(stream), call.forward);
}
TENSORPAGER_HOOKS(cuLaunchCooperativeKernel, _ptsz, launch_cooperative)

inline CUresult launch_ex(const Call& call, const CUlaunchConfig* config, CUfunction function, void** params,
                          void** extra) {
  const CUstream stream = config == nullptr ? nullptr : config->hStream;
  return on_launch(function, params, extra, call.on(stream), call.forward);
}
TENSORPAGER_HOOKS(cuLaunchKernelEx, _ptsz, launch_ex)

// The launches of CUDA before 4.0: cuParamSetv has pinned the operands.
inline CUresult launch_v1(const Call& call, CUfunction function) {
  return on_launch(function, nullptr, nullptr, call.on_null(), call.forward);
}
inline CUresult launch_grid(const Call& call, CUfunction function, int, int) {
  return on_launch(function, nullptr, nullptr, call.on_null(), call.forward);
}
inline CUresult launch_grid_async(const Call& call, CUfunction function, int, int, CUstream stream) {
  return on_launch(function, nullptr, nullptr, call.on(stream), call.forward);
}
TENSORPAGER_HOOK(cuLaunch, launch_v1)
TENSORPAGER_HOOK(cuLaunchGrid, launch_grid)
TENSORPAGER_HOOK(cuLaunchGridAsync, launch_grid_async)

}  // namespace tensorpager
