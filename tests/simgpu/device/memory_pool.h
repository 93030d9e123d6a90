#pragma once

// Stream-ordered allocation (cuMemAllocAsync). A block is handed out again when its free comes before the new use: on
// the same stream, by events, or because it has ended. When there is no room otherwise, the allocation is ordered after
// the free.

#include <cstdint>
#include <limits>
#include <optional>

#include "tests/simgpu/device/allocations.h"
#include "tests/simgpu/device/block_heap.h"
#include "tests/simgpu/device/scheduler.h"

namespace simgpu {

class MemoryPool {
 public:
  struct Policy {
    bool follow_events = true;
    bool opportunistic = true;
    bool internal_dependencies = true;
    std::uint64_t release_threshold = 0;
  };
  struct Marks {
    std::uint64_t reserved_high = 0, used_high = 0;
  };
  struct Block {
    std::uint64_t address;
    std::vector<OpRef> after;  ///< the allocation must be ordered after these
    std::uint64_t grown = 0;   ///< bytes that the pool took from the device for it
  };

  MemoryPool(Segments& segments, std::uint64_t max_bytes) : segments_(segments), max_bytes_(max_bytes) {}
  ~MemoryPool();

  std::optional<Block> allocate(const Scheduler& scheduler, const Stream& stream, std::uint64_t bytes);
  /// `op`: the free in its stream; nullptr: the block may be used at once.
  void free(std::uint64_t address, const OpRef& op);
  /// Gives back what is idle, down to `keep` bytes.
  void trim(const Scheduler& scheduler, std::uint64_t keep);

  std::uint64_t used() const noexcept { return heap_.used(); }
  std::uint64_t reserved() const noexcept { return heap_.reserved(); }

  Policy policy;
  Marks marks;

 private:
  bool grow(std::uint64_t bytes);
  std::optional<Block> found(std::optional<std::uint64_t> address, std::uint64_t grown);

  Segments& segments_;
  std::uint64_t max_bytes_;  // 0: no limit
  BlockHeap heap_;
};

}  // namespace simgpu
