#pragma once

// A kernel as C++: a function that runs a block if no thread ever yields, else one that runs a thread to its next
// yield.

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "tests/simgpu/ptx/module_layout.h"
#include "tests/simgpu/ptx/syntax.h"

namespace simgpu::ptx {

struct TranslatedKernel {
  KernelLayout layout;
  std::string body;  ///< functions named by `index`, to be compiled behind device_preamble()
  bool yields = false;
  bool ordered = false;    ///< blocks must run in index order, on one worker
  std::size_t weight = 0;  ///< instructions, to share out compiles
};

/// `index` makes the names in the generated code unique in its unit; the entry is simgpu_kernel_<index>.
tl::expected<TranslatedKernel, SyntaxError> translate_kernel(const ModuleSyntax& module,
                                                             const std::vector<GlobalVariable>& globals, Kernel kernel,
                                                             std::size_t index);

/// The text of device/, in order: what every generated unit begins with.
const std::string& device_preamble();

}  // namespace simgpu::ptx
