// cuFunc* and occupancy.

#include <cuda.h>

#include <algorithm>

#include "tests/simgpu/driver/code.h"
#include "tests/simgpu/driver/device_attributes.h"
#include "tests/simgpu/driver/function_attributes.h"

namespace simgpu {
namespace {

// A CUkernel is no CUfunction here: only launches and occupancy take it.
template <class Body>
CUresult with_function(const char* name, CUfunction handle, Body body) {
  return api({name}, [&](Call& call) {
    const auto function = call.driver().functions.find(handle);
    return function ? body(call, *function) : CUDA_ERROR_INVALID_HANDLE;
  });
}

template <class Body>
CUresult with_launchable(const char* name, CUfunction handle, Body body) {
  return api({name}, [&](Call& call) {
    const auto function = launchable(call.driver(), handle);
    return function ? body(call, *function) : CUDA_ERROR_INVALID_HANDLE;
  });
}

int active_blocks(const Settings& settings, const FunctionObject& function, int block, size_t dynamic_shared) {
  const KernelInfo& info = function.kernel->info();
  if (block < 1 || block > static_cast<int>(info.max_threads)) return 0;
  const int warps_threads = static_cast<int>(round_up(static_cast<std::uint64_t>(block), 32));
  int blocks = std::min(kMaxBlocksPerMultiprocessor, threads_per_multiprocessor(settings) / warps_threads);
  const std::uint64_t shared = info.static_shared_bytes + dynamic_shared;
  const auto room = static_cast<std::uint64_t>(shared_bytes_opt_in(settings));
  if (shared > 0) blocks = std::min(blocks, static_cast<int>(room / shared));
  return blocks;
}

CUresult occupancy(const char* name, int* out, CUfunction handle, int block, size_t dynamic_shared) {
  return with_launchable(name, handle, [&](Call& call, FunctionObject& function) {
    if (!out || block < 1) return CUDA_ERROR_INVALID_VALUE;
    *out = active_blocks(call.device().settings, function, block, dynamic_shared);
    return CUDA_SUCCESS;
  });
}

CUresult best_block(const char* name, int* grid, int* block, CUfunction handle, CUoccupancyB2DSize dynamic_shared_of,
                    size_t dynamic_shared, int limit) {
  return with_launchable(name, handle, [&](Call& call, FunctionObject& function) {
    if (!grid || !block) return CUDA_ERROR_INVALID_VALUE;
    const int largest = static_cast<int>(function.kernel->info().max_threads);
    const int top = limit > 0 ? std::min(limit, largest) : largest;
    int best_threads = 0;
    for (int size = top / 32 * 32; size >= 32; size -= 32) {
      const size_t shared = dynamic_shared_of ? dynamic_shared_of(size) : dynamic_shared;
      const int blocks = active_blocks(call.device().settings, function, size, shared);
      if (blocks * size <= best_threads) continue;
      best_threads = blocks * size;
      *block = size;
      *grid = blocks * static_cast<int>(call.device().profile.multiprocessors);
    }
    return best_threads > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

}  // namespace

extern "C" {

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction handle) {
  return with_launchable(__func__, handle, [&](Call& call, FunctionObject& function) {
    return get_attribute(call.device().settings, function, attribute, value);
  });
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  return with_launchable(__func__, handle, [&](Call& call, FunctionObject& function) {
    return set_attribute(call.device().settings, function, attribute, value);
  });
}

CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t* offset, size_t* bytes) {
  return with_function(__func__, handle,
                       [&](Call&, FunctionObject& function) { return parameter_info(function, index, offset, bytes); });
}

CUresult cuFuncGetModule(CUmodule* out, CUfunction handle) {
  return with_function(__func__, handle, [&](Call&, FunctionObject& function) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    *out = function.module;
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncGetName(const char** out, CUfunction handle) {
  return with_function(__func__, handle, [&](Call&, FunctionObject& function) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    *out = function.name.c_str();
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache) {
  return with_launchable(__func__, handle, [](Call&, FunctionObject&) { return CUDA_SUCCESS; });
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction handle) {
  return with_function(__func__, handle, [&](Call&, FunctionObject&) {
    if (!state) return CUDA_ERROR_INVALID_VALUE;
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncLoad(CUfunction handle) {
  return with_function(__func__, handle, [](Call&, FunctionObject&) { return CUDA_SUCCESS; });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* out, CUfunction function, int block, size_t dynamic_shared) {
  return occupancy(__func__, out, function, block, dynamic_shared);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* out, CUfunction function, int block,
                                                              size_t dynamic_shared, unsigned) {
  return occupancy(__func__, out, function, block, dynamic_shared);
}

CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function, CUoccupancyB2DSize shared_of,
                                          size_t shared, int limit) {
  return best_block(__func__, grid, block, function, shared_of, shared, limit);
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, CUfunction function,
                                                   CUoccupancyB2DSize shared_of, size_t shared, int limit, unsigned) {
  return best_block(__func__, grid, block, function, shared_of, shared, limit);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* out, CUfunction handle, int blocks, int) {
  return with_launchable(__func__, handle, [&](Call& call, FunctionObject& function) {
    if (!out || blocks < 1) return CUDA_ERROR_INVALID_VALUE;
    const auto each = static_cast<std::uint64_t>(shared_bytes_opt_in(call.device().settings) / blocks);
    const std::uint64_t fixed = function.kernel->info().static_shared_bytes;
    *out = each > fixed ? std::min<std::uint64_t>(each - fixed, static_cast<std::uint64_t>(function.max_dynamic_shared))
                        : 0;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
}  // namespace simgpu
