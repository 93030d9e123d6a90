#pragma once

// From what a program hands to the driver to PTX text. Layout: facts/ptx_lanes.md, section 5.6; the wrapper's struct is
// in <cuda>/include/fatbinary_section.h.

#include <string>
#include <tl/expected.hpp>

#include "tests/simgpu/kernel.h"

namespace simgpu::ptx {

/// `image` is PTX text with a NUL at its end, a fat binary, or nvcc's wrapper around fat binaries. Of several PTX
/// entries the one with the highest capability up to `capability` (75 is 7.5) is taken, else the lowest above it.
tl::expected<std::string, LoadError> find_ptx(const void* image, unsigned capability);

}  // namespace simgpu::ptx
