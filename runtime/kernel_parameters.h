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
#include <shared_mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/arena.h"

namespace tensorpager {

using Words = boost::container::small_vector<CUdeviceptr, 16>;

class KernelParameters {
 public:
  /// Adds the words that lie in the arena. False: the layout is not known, so the operands are not.
  bool scan(CUfunction function, void* const* params, void* const* extra, const Arena& arena, Words& out);

  /// Handles of cuLibraryGetKernel: the driver answers for them under another name.
  void note_kernels(const CUkernel* kernels, unsigned count);
  /// After an unload: handles may come back with another meaning.
  void forget();

  /// True once a kernel: its first launch may load its code.
  bool first_launch(CUfunction function);

 private:
  struct Parameter {
    std::size_t offset;
    std::size_t bytes;
  };
  using Layout = std::vector<Parameter>;

  std::shared_ptr<const Layout> layout(CUfunction function);
  std::shared_ptr<const Layout> ask(CUfunction function, bool kernel) const;

  std::shared_mutex mutex_;
  std::unordered_map<CUfunction, std::shared_ptr<const Layout>> layouts_;  // null: the driver does not say
  std::unordered_set<CUfunction> kernels_;
  std::unordered_set<CUfunction> launched_;
};

}  // namespace tensorpager
