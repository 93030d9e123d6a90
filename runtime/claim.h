#pragma once

// What one op (or one need for room) takes from the pool and from other tensors: made under the pager's mutex in one
// piece or not at all, so that no two threads can hold half of what the other needs.

#include <span>
#include <vector>

#include "runtime/pager_state.h"

namespace tensorpager {

/// One chunk on its way to a granule.
struct Move {
  Chunk* chunk = nullptr;
  GranuleIndex to = kNoGranule;    ///< kNoGranule: the chunk is given back to the driver
  GranuleIndex from = kNoGranule;  ///< where the driver has it mapped now, when that is another place
  bool exists = true;              ///< false: the chunk is still to be created, or was released
  Tensor* target = nullptr;        ///< who owns `to`
  Tensor* victim = nullptr;        ///< whose bytes it holds; null: nobody's
  std::uint32_t victim_granule = 0;

  std::uint32_t target_granule() const noexcept { return to - target->first; }
};

struct Claim {
  std::vector<Move> moves;
  std::vector<Tensor*> targets;  ///< operands that miss granules; in transit from now on
  std::vector<Tensor*> victims;  ///< in transit from now on
  bool device_full = false;      ///< afterwards: the driver had no memory for a new chunk

  /// A claim is made in one piece: it must not run out of memory half-way.
  void reserve(std::size_t most_moves, std::size_t most_targets, std::size_t most_victims) {
    moves.reserve(most_moves);
    targets.reserve(most_targets);
    victims.reserve(most_victims);
  }
};

enum class ClaimResult {
  made,
  wait,       ///< what is missing is in other ops' hands
  host_full,  ///< no host memory for what would be evicted; some may come when copies are done
};

/// Host memory that an eviction of the granule takes.
std::size_t host_footprint(const PagerState& state, const Tensor& tensor, std::uint32_t granule);

/// For the missing granules of the targets: all of them, or as many as the host has room for what must go (at least
/// one; the caller, whose turn it is, then claims again). In order of preference: the chunk that is mapped there and
/// has no owner; one without owner and mapping; a new one; one without owner; the least recently used tensors' ones).
ClaimResult claim_for(PagerState& state, StreamTable& streams, std::span<Tensor* const> targets,
                      std::span<Tensor* const> spared, Claim& out);

/// `count` chunks that are to be given back to the driver.
ClaimResult claim_release(PagerState& state, StreamTable& streams, std::size_t count, Claim& out);

}  // namespace tensorpager
