#pragma once

#include "tests/simgpu/kernel.h"

namespace simgpu {

inline constexpr const char* kTestImage = "simgpu test kernels";

}  // namespace simgpu
