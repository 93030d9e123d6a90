#pragma once

// C++ text to a loaded shared object, through a folder of compiled ones. Thread-safe; several processes may share the
// folder.

#include <string>
#include <tl/expected.hpp>

#include "tests/simgpu/kernel.h"

namespace simgpu::ptx {

/// The handle of dlopen; it stays open for the life of the process. A failure names the compiler's first error.
tl::expected<void*, LoadError> compile_and_open(const std::string& source, const LoaderOptions& options);

}  // namespace simgpu::ptx
