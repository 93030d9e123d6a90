#pragma once

// What the pager knows, guarded by one mutex. No driver call is made while the mutex is held: a thread claims under it
// what it is going to move, moves it without, and says so under it. Who needs what another thread has claimed waits for
// `changed`.

#include <condition_variable>
#include <deque>
#include <list>
#include <memory>
#include <mutex>

#include "runtime/arena.h"
#include "runtime/budget.h"
#include "runtime/chunk_pool.h"
#include "runtime/host_pool.h"
#include "runtime/stream_table.h"
#include "runtime/tensor.h"

namespace tensorpager {

inline constexpr std::size_t kNoLimit = ~std::size_t{0};

struct PagerState {
  std::mutex mutex;
  std::condition_variable changed;

  std::unique_ptr<Arena> arena;
  ChunkPool chunks;
  Budget budget;
  TensorList tensors;
  std::uint64_t generations = 0;
  std::size_t live_granules = 0;       ///< of all tensors, resident or not
  std::size_t fixed_granules = 0;      ///< of those, resident for good
  std::size_t most_chunks = kNoLimit;  ///< found out when the driver had no more memory

  std::unique_ptr<HostPool> host;
  std::size_t host_bytes = 0;      ///< footprints of all blocks, the retiring ones included
  std::deque<HostBlock> retiring;  ///< blocks that a copy still reads or writes

  std::list<int> line;  ///< ops that miss something, in the order of their coming

  /// Chunks that may exist at once.
  std::size_t chunk_capacity() const noexcept {
    return std::min(budget.for_chunks() / arena->granularity(), most_chunks);
  }
  std::size_t host_capacity_granules() const noexcept {
    return host->usable() / HostPool::footprint(arena->granularity());
  }
  bool resident(GranuleIndex granule) const noexcept {
    const Chunk* chunk = (*arena)[granule].chunk;
    return chunk != nullptr && chunk->owner == granule;
  }

  /// Publishes the levels that the budget is judged by.
  void note_levels() const noexcept;
  /// Frees the retiring blocks whose copies are known to be done.
  void drain_retiring(StreamTable& streams);
  void retire(HostBlock&& block);
};

}  // namespace tensorpager
