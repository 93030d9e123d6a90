#pragma once

// Where the variables and parameters of a module lie.

#include <map>
#include <string>
#include <vector>

#include "tests/simgpu/kernel.h"
#include "tests/simgpu/ptx/syntax.h"

namespace simgpu::ptx {

/// The global and constant variables, in one order that the generated code's table of addresses has too.
struct GlobalVariable {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint64_t alignment = 1;
  std::vector<std::byte> image;  ///< empty: zero
  struct Relocation {
    std::uint64_t offset;
    std::uint32_t global;  ///< index in the vector
    std::uint64_t addend;
  };
  std::vector<Relocation> relocations;
};

/// Throws SyntaxError.
std::vector<GlobalVariable> lay_out_globals(const ModuleSyntax& module);

struct Place {
  Variable::Space space;
  std::uint64_t offset;  ///< bytes within the space; of a global or constant: its index
};

struct KernelLayout {
  KernelInfo info;
  std::uint32_t dynamic_shared_offset = 0;  ///< where unsized shared variables begin
  std::map<std::string, Place, std::less<>> places;

  const Place* find(std::string_view name) const;
};

/// Shared memory holds the kernel's own variables and those of the module that it names. Throws SyntaxError.
KernelLayout lay_out_kernel(const ModuleSyntax& module, const std::vector<GlobalVariable>& globals,
                            const Kernel& kernel);

}  // namespace simgpu::ptx
