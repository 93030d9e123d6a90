#pragma once

// Carries out a claim: copies victims out, hands chunks over, loads what comes back. Called without the pager's mutex;
// takes it for a moment where it publishes.

#include <cuda.h>

#include "runtime/claim.h"

namespace tensorpager {

class Transfers {
 public:
  Transfers(PagerState& state, StreamTable& streams, const ChunkDriver& chunks) noexcept
      : state_(state), streams_(streams), chunks_(chunks) {}

  /// Creates the copy streams in the current context.
  CUresult open();

  /// Everything that the claim promised. On success the targets are resident and no longer in transit, and what every
  /// user of them must wait for is in their `ready`. On failure every chunk is back in the pool or with its victim, the
  /// targets are as non-resident as before, and the code is the driver's.
  CUresult carry_out(Claim& claim);

 private:
  std::byte* host_memory(std::size_t bytes);
  CUresult move(Claim& claim);
  CUresult copy_out(Claim& claim);
  CUresult copy_out_one(const Move& move, HostBlock& block);
  CUresult unmap_old(Claim& claim);
  void note_unmapped(std::span<Move* const> moves);
  CUresult map_new(Claim& claim);
  CUresult create_missing(Claim& claim);
  CUresult give_back(Claim& claim);
  CUresult load(Claim& claim);
  CUresult load_granule(const Move& move);
  void commit(Claim& claim);
  void abandon(Claim& claim);
  void release_victims(Claim& claim);

  PagerState& state_;
  StreamTable& streams_;
  const ChunkDriver& chunks_;
  StreamId out_ = 0;
  StreamId in_ = 0;
};

}  // namespace tensorpager
