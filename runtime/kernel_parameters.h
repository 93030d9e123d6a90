#pragma once

// Which words of a launch may be device addresses. Layouts come from the driver, once a kernel; every aligned 8-byte
// word of every parameter counts, and of the `extra` buffer. What only looks like an address costs memory, never
// correctness.
//
// Threads: any.

#include <cuda.h>

#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/arena.h"

namespace tensorpager {

using Words = boost::container::small_vector<CUdeviceptr, 16>;

/// What the driver tells of a kernel.
struct Kernel {
  struct Parameter {
    std::size_t offset;
    std::size_t bytes;
  };
  std::string name;
  std::optional<std::vector<Parameter>> parameters;  ///< nullopt: it does not say
};

class KernelParameters {
 public:
  struct Found {
    std::shared_ptr<const Kernel> kernel;
    bool first = false;  ///< not launched before: its code may be loaded at its first launch
  };
  /// Asks the driver once a kernel.
  Found find(CUfunction function);

  /// Adds the words that lie in the arena. False: the layout is not known, so the operands are not.
  static bool scan(const Kernel& kernel, void* const* params, void* const* extra, const Arena& arena, Words& out);

  /// Handles of cuLibraryGetKernel: the driver answers for them under other names.
  void note_kernels(const CUkernel* kernels, unsigned count);
  /// After an unload: handles may come back with another meaning.
  void forget();

 private:
  std::shared_mutex mutex_;
  std::unordered_map<CUfunction, std::shared_ptr<const Kernel>> known_;
  std::unordered_set<CUfunction> kernels_;
};

}  // namespace tensorpager
