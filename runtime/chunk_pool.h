#pragma once

// The physical pieces of device memory, and the driver calls that create, map and release them.
//
// A chunk has an `owner`, the granule whose bytes it holds, and `mapped`, the granule where the driver has it. A chunk
// without owner may be overwritten after `ready`. Freed memory keeps its mapping, so that a loop that fits maps
// nothing.
//
// Threads: bookkeeping under the pager's mutex; the functions of ChunkDriver make driver calls and need no lock.

#include <cuda.h>

#include <boost/intrusive/list.hpp>
#include <deque>
#include <span>

#include "runtime/arena.h"
#include "runtime/stream_table.h"

namespace tensorpager {

struct Chunk : boost::intrusive::list_base_hook<> {
  CUmemGenericAllocationHandle handle = 0;
  GranuleIndex owner = kNoGranule;
  GranuleIndex mapped = kNoGranule;
  /// After these the chunk may be overwritten or unmapped. Empty while it has an owner, but for copies of an eviction
  /// that was given up.
  Points ready;
};

class ChunkPool {
 public:
  /// Chunks that exist or are being created.
  std::size_t count() const noexcept { return count_; }
  /// Records of all chunks; those without handle do not exist.
  std::deque<Chunk>& records() noexcept { return chunks_; }

  /// Takes a given chunk without owner out of the pool, to be assigned.
  void take(Chunk& chunk) noexcept;
  /// An unmapped one, else nullptr.
  Chunk* take_unmapped() noexcept;
  /// The one without owner whose mapping has been of no use for longest, else nullptr.
  Chunk* take_idle() noexcept;
  /// A chunk that is still to be created; reserve_new() has seen to its record.
  Chunk* take_new() noexcept;
  /// After this, `count` calls of take_new() need no memory.
  void reserve_new(std::size_t count);

  std::size_t unmapped() const noexcept { return unmapped_.size(); }
  std::size_t idle() const noexcept { return idle_.size(); }

  /// An owned chunk changes hands: its owner was copied out.
  void disown(Chunk& chunk) noexcept;
  /// The chunk in hand has an owner now.
  void assigned(Chunk& chunk) noexcept;
  /// The owner was freed, or the chunk in hand goes back without one.
  void freed(Chunk& chunk) noexcept;
  /// The chunk in hand no longer exists.
  void removed(Chunk& chunk) noexcept;

 private:
  using List = boost::intrusive::list<Chunk>;

  std::deque<Chunk> chunks_;
  List vacant_;    // records without a chunk
  List idle_;      // no owner, mapped; longest first
  List unmapped_;  // no owner, not mapped
  std::size_t count_ = 0;
};

/// Driver calls on chunks of one device.
class ChunkDriver {
 public:
  ChunkDriver(CUdevice device, const Arena& arena) noexcept;

  CUresult create(Chunk& chunk) const noexcept;
  CUresult release(Chunk& chunk) const noexcept;
  /// Maps the chunks at the granules, one to one, and grants access, in one call for each run of neighbours. On failure
  /// nothing stays mapped.
  CUresult map(std::span<Chunk* const> chunks, std::span<const GranuleIndex> granules) const noexcept;
  /// Takes all granules of the longest run of neighbours at the front of the list out; their number is in `done`.
  CUresult unmap_run(std::span<const GranuleIndex> granules, std::size_t& done) const noexcept;

 private:
  CUresult grant(std::span<const GranuleIndex> granules) const noexcept;

  const Arena& arena_;
  CUmemAllocationProp properties_{};
  CUmemAccessDesc access_{};
};

}  // namespace tensorpager
