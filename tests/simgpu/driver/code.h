#pragma once

// Loading code: the common part of modules and libraries.

#include <cuda.h>

#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "tests/simgpu/driver/call.h"

namespace simgpu {

/// Says on standard error why an image was refused, since programs rarely ask.
tl::expected<std::shared_ptr<Code>, CUresult> load_code(Call& call, const void* image);
/// The text of the last refusal in this thread, for JIT error logs.
const std::string& last_load_error() noexcept;

/// Compiles the kernel when it is asked for first.
tl::expected<std::shared_ptr<FunctionObject>, CUresult> make_function(Call& call, const std::shared_ptr<Code>& code,
                                                                      const char* name, CUmodule module);
CUresult find_global(const Code& code, const char* name, CUdeviceptr* address, size_t* bytes);

/// The function behind a CUfunction, or behind a CUkernel that was passed as one.
std::shared_ptr<FunctionObject> launchable(Driver& driver, const void* handle);

}  // namespace simgpu
