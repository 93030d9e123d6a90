#pragma once

// Segments of device memory, plain allocations, page-locked host memory, and the table of all of them by address.

#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "tests/simgpu/device/block_heap.h"
#include "tests/simgpu/device/physical_memory.h"
#include "tests/simgpu/device/window.h"

namespace simgpu {

class MemoryPool;

/// One allocation as the program knows it.
struct Allocation {
  enum class Kind { device, pool, host, registered_host };
  Kind kind;
  std::uint64_t address;
  std::uint64_t bytes;  ///< as asked
  std::uint64_t id;     ///< unique in the process
  Context* context = nullptr;
  std::shared_ptr<MemoryPool> pool = nullptr;
  unsigned flags = 0;
  bool whole_segment = false;  ///< has a segment of its own
};

/// Ranges of the window with memory behind them, in whole granules.
class Segments {
 public:
  Segments(Window& window, Capacity& capacity, PhysicalStore& store, std::uint64_t granularity)
      : window_(window), capacity_(capacity), store_(store), granularity_(granularity) {}
  ~Segments();

  /// The segment's address; nothing when there is no room.
  std::optional<std::uint64_t> open(std::uint64_t bytes);
  void close(std::uint64_t address);
  std::uint64_t rounded(std::uint64_t bytes) const noexcept { return round_up(bytes, granularity_); }
  std::uint64_t granularity() const noexcept { return granularity_; }

 private:
  Window& window_;
  Capacity& capacity_;
  PhysicalStore& store_;
  std::uint64_t granularity_;
  std::map<std::uint64_t, std::shared_ptr<PhysicalMemory>> open_;
};

class Allocations {
 public:
  Allocations(Window& window, Segments& segments, std::uint64_t host_memory);
  ~Allocations();

  /// Plain device memory; nothing when there is no room.
  std::optional<std::uint64_t> allocate(std::uint64_t bytes, Context* context);
  std::optional<std::uint64_t> allocate_host(std::uint64_t bytes, unsigned flags, Context* context);
  void register_host(std::uint64_t address, std::uint64_t bytes, unsigned flags, Context* context);
  void add_pool_block(std::uint64_t address, std::uint64_t bytes, std::shared_ptr<MemoryPool> pool, Context* context);
  /// Forgets the allocation and gives its memory back (a pool block's memory is the pool's affair).
  void remove(std::uint64_t address);

  /// The allocation that holds the address.
  const Allocation* find(std::uint64_t address) const;
  /// The allocation that begins there.
  const Allocation* at(std::uint64_t address) const;
  std::vector<std::uint64_t> of_context(const Context* context) const;
  std::size_t count(Allocation::Kind kind) const;

 private:
  void add(Allocation allocation);
  void remove_device(const Allocation& allocation);

  Window& window_;
  Segments& segments_;
  Capacity host_capacity_;
  PhysicalStore host_store_;
  BlockHeap small_;
  std::map<std::uint64_t, std::shared_ptr<PhysicalMemory>> host_;
  std::map<std::uint64_t, Allocation> table_;
  std::uint64_t next_id_ = 1;
};

}  // namespace simgpu
