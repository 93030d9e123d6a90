#pragma once

#include <cuda.h>

#include "tests/simgpu/device/settings.h"
#include "tests/simgpu/driver/handles.h"

namespace simgpu {

CUresult get_attribute(const Settings& settings, const FunctionObject& function, CUfunction_attribute attribute,
                       int* value);
CUresult set_attribute(const Settings& settings, FunctionObject& function, CUfunction_attribute attribute, int value);
/// INVALID_VALUE past the last parameter: that is how callers find the end.
CUresult parameter_info(const FunctionObject& function, size_t index, size_t* offset, size_t* bytes);

}  // namespace simgpu
