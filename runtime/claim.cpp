#include "runtime/claim.h"

#include <algorithm>

namespace tensorpager {
namespace {

struct Victim {
  Tensor* tensor;
  std::uint32_t granule;
};

bool may_be_evicted(const Tensor& tensor, std::span<Tensor* const> spared) {
  return tensor.pins == 0 && tensor.transit == 0 && !tensor.fixed && tensor.missing < tensor.granules &&
         std::ranges::find(spared, &tensor) == spared.end();
}

// The last granules first: what is left of a tensor stays in one run.
void add_granules(const PagerState& state, Tensor& tensor, std::size_t most, std::vector<Victim>& out) {
  for (std::uint32_t granule = tensor.granules; granule-- > 0 && out.size() < most;) {
    if (state.resident(tensor.first + granule)) out.push_back({&tensor, granule});
  }
}

/// `count` granules of the least recently used tensors; fewer when there are no more.
std::vector<Victim> find_victims(PagerState& state, std::span<Tensor* const> spared, std::size_t count) {
  std::vector<Victim> victims;
  for (Tensor& tensor : state.tensors) {
    if (victims.size() == count) break;
    if (may_be_evicted(tensor, spared)) add_granules(state, tensor, count, victims);
  }
  return victims;
}

std::size_t host_bytes_for(const PagerState& state, const std::vector<Victim>& victims) {
  std::size_t bytes = 0;
  for (const Victim& victim : victims) {
    if (victim.tensor->touched) bytes += victim.tensor->granule_bytes(victim.granule, state.arena->granularity());
  }
  return bytes;
}

bool host_has_room(PagerState& state, StreamTable& streams, std::size_t bytes) {
  if (state.host_bytes + bytes > state.host->capacity()) state.drain_retiring(streams);
  return state.host_bytes + bytes <= state.host->capacity();
}

// The chunk leaves its place: from now on the granule has nothing mapped, and nothing may be mapped there until it is
// true.
void detach(PagerState& state, Move& move) {
  move.from = move.chunk->mapped;
  if (move.from == kNoGranule) return;
  Granule& granule = (*state.arena)[move.from];
  granule.chunk = nullptr;
  granule.leaving = true;
}

void take_victim(PagerState& state, const Victim& victim, GranuleIndex to, Claim& out) {
  Tensor& tensor = *victim.tensor;
  Move move{.to = to, .victim = &tensor, .victim_granule = victim.granule};
  move.chunk = (*state.arena)[tensor.first + victim.granule].chunk;
  state.chunks.disown(*move.chunk);
  detach(state, move);
  ++tensor.missing;
  if (tensor.touched) state.host_bytes += tensor.granule_bytes(victim.granule, state.arena->granularity());
  if (std::ranges::find(out.victims, &tensor) == out.victims.end()) {
    out.victims.push_back(&tensor);
    ++tensor.transit;
  }
  out.moves.push_back(move);
}

std::size_t may_create(const PagerState& state) {
  const std::size_t capacity = state.chunk_capacity();
  return capacity > state.chunks.count() ? capacity - state.chunks.count() : 0;
}

/// Granules that the chunk already mapped there can serve are moved at once; the others are returned.
std::vector<GranuleIndex> split_missing(PagerState& state, std::span<Tensor* const> targets,
                                        std::vector<Move>& in_place) {
  std::vector<GranuleIndex> elsewhere;
  for (const Tensor* tensor : targets) {
    for (GranuleIndex granule = tensor->first; granule < tensor->first + tensor->granules; ++granule) {
      if (state.resident(granule)) continue;
      Chunk* const chunk = (*state.arena)[granule].chunk;
      if (chunk != nullptr) {
        in_place.push_back({.chunk = chunk, .to = granule});
      } else {
        elsewhere.push_back(granule);
      }
    }
  }
  return elsewhere;
}

Move take_free(PagerState& state, GranuleIndex to) {
  Move move{.to = to};
  move.chunk = state.chunks.take_unmapped();
  if (move.chunk == nullptr && may_create(state) > 0) {
    move.chunk = state.chunks.take_new();
    move.create = true;
  }
  if (move.chunk == nullptr) move.chunk = state.chunks.take_idle();
  detach(state, move);
  return move;
}

}  // namespace

ClaimResult claim_for(PagerState& state, StreamTable& streams, std::span<Tensor* const> targets, Claim& out) {
  const std::vector<GranuleIndex> elsewhere = split_missing(state, targets, out.moves);
  const std::size_t idle = state.chunks.idle() - out.moves.size();
  const std::size_t free = std::min(elsewhere.size(), state.chunks.unmapped() + may_create(state) + idle);
  const std::vector<Victim> victims = find_victims(state, targets, elsewhere.size() - free);
  if (free + victims.size() < elsewhere.size()) return out.moves.clear(), ClaimResult::wait;
  if (!host_has_room(state, streams, host_bytes_for(state, victims))) return out.moves.clear(), ClaimResult::host_full;

  for (const Move& move : out.moves) state.chunks.take(*move.chunk);
  for (std::size_t i = 0; i < free; ++i) out.moves.push_back(take_free(state, elsewhere[i]));
  for (std::size_t i = 0; i < victims.size(); ++i) take_victim(state, victims[i], elsewhere[free + i], out);
  for (Tensor* target : targets) {
    out.targets.push_back(target);
    ++target->transit;
  }
  return ClaimResult::made;
}

ClaimResult claim_release(PagerState& state, StreamTable& streams, std::size_t count, Claim& out) {
  const std::size_t free = std::min(count, state.chunks.unmapped() + state.chunks.idle());
  const std::vector<Victim> victims = find_victims(state, {}, count - free);
  if (free + victims.size() < count) return ClaimResult::wait;
  if (!host_has_room(state, streams, host_bytes_for(state, victims))) return ClaimResult::host_full;
  for (std::size_t i = 0; i < free; ++i) {
    Move move;
    move.chunk = state.chunks.take_unmapped();
    if (move.chunk == nullptr) move.chunk = state.chunks.take_idle();
    detach(state, move);
    out.moves.push_back(move);
  }
  for (const Victim& victim : victims) take_victim(state, victim, kNoGranule, out);
  return ClaimResult::made;
}

}  // namespace tensorpager
