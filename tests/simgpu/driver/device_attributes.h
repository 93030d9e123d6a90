#pragma once

#include <cuda.h>

#include "tests/simgpu/device/settings.h"

namespace simgpu {

inline constexpr int kSharedBytesPerBlock = 48 * 1024;
inline constexpr int kMaxBlocksPerMultiprocessor = 16;

int threads_per_multiprocessor(const Settings& settings) noexcept;
/// With the opt-in (CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES).
int shared_bytes_opt_in(const Settings& settings) noexcept;

/// Attributes that the simulated device does not have are 0.
int device_attribute(const Settings& settings, CUdevice_attribute attribute) noexcept;

}  // namespace simgpu
