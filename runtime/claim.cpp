#include "runtime/claim.h"

#include <algorithm>

namespace tensorpager {

std::size_t host_footprint(const PagerState& state, const Tensor& tensor, std::uint32_t granule) {
  if (!tensor.touched) return 0;  // nothing to keep
  return HostPool::footprint(tensor.granule_bytes(granule, state.arena->granularity()));
}

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

/// `count` granules of the least recently used tensors; fewer when there are no more. What may wait for a function of
/// the host comes last: its copy would hold up every later one, and the function may wait for the thread that is here.
std::vector<Victim> find_victims(PagerState& state, StreamTable& streams, std::span<Tensor* const> spared,
                                 std::size_t count) {
  std::vector<Victim> victims;
  std::vector<Tensor*> behind_host;
  for (Tensor& tensor : state.tensors) {
    if (victims.size() == count) return victims;
    if (!may_be_evicted(tensor, spared)) continue;
    if (streams.may_wait_for_host(tensor.last_use)) {
      behind_host.push_back(&tensor);
    } else {
      add_granules(state, tensor, count, victims);
    }
  }
  for (Tensor* tensor : behind_host) add_granules(state, *tensor, count, victims);
  return victims;
}

/// Drops the victims that the host has no room for. False: it has room for none.
bool fit_into_host(PagerState& state, StreamTable& streams, std::vector<Victim>& victims) {
  state.drain_retiring(streams);
  std::size_t bytes = state.host_bytes;
  const auto end = std::ranges::find_if(victims, [&](const Victim& victim) {
    bytes += host_footprint(state, *victim.tensor, victim.granule);
    return bytes > state.host->usable();
  });
  const bool none = end == victims.begin() && !victims.empty();
  victims.erase(end, victims.end());
  return !none;
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

void take_victim(PagerState& state, const Victim& victim, Move move, Claim& out) {
  Tensor& tensor = *victim.tensor;
  move.victim = &tensor;
  move.victim_granule = victim.granule;
  move.chunk = (*state.arena)[tensor.first + victim.granule].chunk;
  state.chunks.disown(*move.chunk);
  detach(state, move);
  ++tensor.missing;
  state.host_bytes += host_footprint(state, tensor, victim.granule);
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

/// The missing granules: those that the chunk already mapped there can serve, and, returned, the others.
std::vector<Move> split_missing(PagerState& state, std::span<Tensor* const> targets, std::vector<Move>& in_place) {
  std::vector<Move> elsewhere;
  for (Tensor* tensor : targets) {
    for (GranuleIndex granule = tensor->first; granule < tensor->first + tensor->granules; ++granule) {
      if (state.resident(granule)) continue;
      Chunk* const chunk = (*state.arena)[granule].chunk;
      (chunk != nullptr ? in_place : elsewhere).push_back({.chunk = chunk, .to = granule, .target = tensor});
    }
  }
  return elsewhere;
}

Move take_free(PagerState& state, Move move) {
  move.chunk = state.chunks.take_unmapped();
  if (move.chunk == nullptr && may_create(state) > 0) {
    move.chunk = state.chunks.take_new();
    move.exists = false;
  }
  if (move.chunk == nullptr) move.chunk = state.chunks.take_idle();
  detach(state, move);
  return move;
}

}  // namespace

ClaimResult claim_for(PagerState& state, StreamTable& streams, std::span<Tensor* const> targets,
                      std::span<Tensor* const> spared, Claim& out) {
  std::vector<Move> in_place;
  const std::vector<Move> elsewhere = split_missing(state, targets, in_place);
  const std::size_t idle = state.chunks.idle() - in_place.size();
  const std::size_t free = std::min(elsewhere.size(), state.chunks.unmapped() + may_create(state) + idle);
  std::vector<Victim> victims = find_victims(state, streams, spared, elsewhere.size() - free);
  if (free + victims.size() < elsewhere.size()) return ClaimResult::wait;
  if (!fit_into_host(state, streams, victims) && in_place.empty() && free == 0) return ClaimResult::host_full;

  out.reserve(in_place.size() + elsewhere.size(), targets.size(), victims.size());
  state.chunks.reserve_new(std::min(free, may_create(state)));
  for (const Move& move : in_place) state.chunks.take(*move.chunk);
  out.moves.assign(in_place.begin(), in_place.end());
  for (std::size_t i = 0; i < free; ++i) out.moves.push_back(take_free(state, elsewhere[i]));
  for (std::size_t i = 0; i < victims.size(); ++i) take_victim(state, victims[i], elsewhere[free + i], out);
  for (const Move& move : out.moves) {
    if (std::ranges::find(out.targets, move.target) != out.targets.end()) continue;
    out.targets.push_back(move.target);
    ++move.target->transit;
  }
  return ClaimResult::made;
}

ClaimResult claim_release(PagerState& state, StreamTable& streams, std::size_t count, Claim& out) {
  const std::size_t free = std::min(count, state.chunks.unmapped() + state.chunks.idle());
  std::vector<Victim> victims = find_victims(state, streams, {}, count - free);
  if (free + victims.size() < count) return ClaimResult::wait;
  if (!fit_into_host(state, streams, victims) && free == 0) return ClaimResult::host_full;
  out.reserve(count, 0, victims.size());
  for (std::size_t i = 0; i < free; ++i) {
    Move move;
    move.chunk = state.chunks.take_unmapped();
    if (move.chunk == nullptr) move.chunk = state.chunks.take_idle();
    detach(state, move);
    out.moves.push_back(move);
  }
  for (const Victim& victim : victims) take_victim(state, victim, {}, out);
  return ClaimResult::made;
}

}  // namespace tensorpager
