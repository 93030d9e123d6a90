#include "runtime/transfers.h"

#include <algorithm>
#include <utility>

#include "runtime/driver.h"
#include "runtime/log.h"
#include "runtime/statistics.h"

namespace tensorpager {
namespace {

CUresult open_stream(StreamTable& streams, StreamId& out) {
  CUstream handle = nullptr;
  // Not blocking: the job's default stream may be the legacy one, which would wait for our copies and they for it.
  const CUresult result = driver().cuStreamCreate(&handle, CU_STREAM_NON_BLOCKING);
  if (result == CUDA_SUCCESS) out = streams.adopt(handle);
  return result;
}

HostBlock& block_of(const Move& move) {
  return move.victim->host[move.victim_granule];
}

}  // namespace

CUresult Transfers::open() {
  const CUresult result = open_stream(streams_, out_);
  return result != CUDA_SUCCESS ? result : open_stream(streams_, in_);
}

// Within the accounting there is room; but copies that are done may still hold some of it.
std::byte* Transfers::host_memory(std::size_t bytes) {
  for (;;) {
    if (std::byte* memory = state_.host->allocate(bytes)) return memory;
    Points busy;
    {
      const std::lock_guard lock(state_.mutex);
      if (state_.retiring.empty()) return nullptr;
      busy = state_.retiring.front().busy;
    }
    if (streams_.wait_host(busy) != CUDA_SUCCESS) return nullptr;
    const std::lock_guard lock(state_.mutex);
    state_.drain_retiring(streams_);
  }
}

CUresult Transfers::copy_out_one(const Move& move, HostBlock& block) {
  Tensor& victim = *move.victim;
  block.bytes = victim.granule_bytes(move.victim_granule, state_.arena->granularity());
  block.data = host_memory(block.bytes);
  if (block.data == nullptr) {
    TENSORPAGER_LOG(error, "host", "no host memory for {} KiB that would be evicted. Lower host_budget, or free memory",
                    block.bytes >> 10);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  CUresult result = streams_.order(out_, victim.last_use);
  if (result == CUDA_SUCCESS) result = streams_.order(out_, victim.ready);
  if (result != CUDA_SUCCESS) return result;
  const CUdeviceptr address = state_.arena->address(victim.first + move.victim_granule);
  return driver().cuMemcpyDtoHAsync_v2(block.data, address, block.bytes, streams_.handle(out_));
}

// A victim is in transit, so nobody else reads or changes its record meanwhile.
CUresult Transfers::copy_out(Claim& claim) {
  std::size_t copied = 0;
  for (Move& move : claim.moves) {
    if (move.victim == nullptr) continue;
    if (!move.victim->touched) {
      // No op has named it: there is nothing to keep.
      move.chunk->ready.clear();
      merge(move.chunk->ready, move.victim->ready);
      continue;
    }
    move.victim->host.resize(move.victim->granules);
    HostBlock& block = block_of(move);
    if (const CUresult result = copy_out_one(move, block); result != CUDA_SUCCESS) return result;
    const Point done = streams_.publish(out_);
    block.busy.clear();
    merge(block.busy, done);
    move.chunk->ready.clear();
    merge(move.chunk->ready, done);
    copied += block.bytes;
    statistics().evictions.add();
  }
  statistics().bytes_evicted.add(copied);
  return CUDA_SUCCESS;
}

CUresult Transfers::create_missing(Claim& claim) {
  for (Move& move : claim.moves) {
    if (move.exists) continue;
    const CUresult result = chunks_.create(*move.chunk);
    claim.device_full = result == CUDA_ERROR_OUT_OF_MEMORY;
    if (result != CUDA_SUCCESS) return result;
    move.exists = true;
    statistics().chunks_created.add();
  }
  return CUDA_SUCCESS;
}

// The host waits for the last use through each mapping that goes, since an unmap waits for nothing.
CUresult Transfers::unmap_old(Claim& claim) {
  Points last;
  std::vector<Move*> leaving;
  for (Move& move : claim.moves) {
    if (move.from == kNoGranule) continue;
    merge(last, move.chunk->ready);
    leaving.push_back(&move);
  }
  if (const CUresult result = streams_.wait_host(last); result != CUDA_SUCCESS) return result;
  std::ranges::sort(leaving, {}, &Move::from);
  std::vector<GranuleIndex> granules(leaving.size());
  std::ranges::transform(leaving, granules.begin(), &Move::from);
  std::size_t done = 0;
  for (std::size_t at = 0; at < granules.size(); at += done) {
    const CUresult result = chunks_.unmap_run(std::span(granules).subspan(at), done);
    if (result != CUDA_SUCCESS) return result;
    note_unmapped(std::span(leaving).subspan(at, done));
  }
  return CUDA_SUCCESS;
}

void Transfers::note_unmapped(std::span<Move* const> moves) {
  statistics().unmaps.add(moves.size());
  const std::lock_guard lock(state_.mutex);
  for (Move* move : moves) {
    (*state_.arena)[move->from].leaving = false;
    move->from = kNoGranule;
    move->chunk->mapped = kNoGranule;
    move->chunk->ready.clear();
  }
}

CUresult Transfers::map_new(Claim& claim) {
  std::vector<Move*> arriving;
  for (Move& move : claim.moves) {
    if (move.target != nullptr && move.chunk->mapped != move.to) arriving.push_back(&move);
  }
  std::ranges::sort(arriving, {}, &Move::to);
  std::vector<Chunk*> chunks(arriving.size());
  std::vector<GranuleIndex> granules(arriving.size());
  std::ranges::transform(arriving, chunks.begin(), &Move::chunk);
  std::ranges::transform(arriving, granules.begin(), &Move::to);
  if (const CUresult result = chunks_.map(chunks, granules); result != CUDA_SUCCESS) return result;
  statistics().maps.add(arriving.size());
  const std::lock_guard lock(state_.mutex);
  for (const Move* move : arriving) {
    move->chunk->mapped = move->to;
    (*state_.arena)[move->to].chunk = move->chunk;
  }
  return CUDA_SUCCESS;
}

// What comes back is loaded on our stream, and everybody who uses the tensor waits for that; what was never written is
// only waited for.
CUresult Transfers::load(Claim& claim) {
  std::vector<Move*> loads;
  for (Move& move : claim.moves) {
    if (move.target == nullptr) continue;
    if (!move.target->touched) {
      merge(move.target->ready, move.chunk->ready);
      continue;
    }
    if (const CUresult result = load_granule(move); result != CUDA_SUCCESS) return result;
    loads.push_back(&move);
  }
  if (loads.empty()) return CUDA_SUCCESS;
  const Point loaded = streams_.publish(in_);
  for (Move* move : loads) {
    merge(move->target->ready, loaded);
    merge(move->target->host[move->target_granule()].busy, loaded);
  }
  return CUDA_SUCCESS;
}

CUresult Transfers::load_granule(const Move& move) {
  const HostBlock& block = move.target->host[move.target_granule()];
  CUresult result = streams_.order(in_, move.chunk->ready);
  if (result == CUDA_SUCCESS) result = streams_.order(in_, block.busy);
  if (result == CUDA_SUCCESS) {
    result =
        driver().cuMemcpyHtoDAsync_v2(state_.arena->address(move.to), block.data, block.bytes, streams_.handle(in_));
  }
  if (result != CUDA_SUCCESS) return result;
  statistics().loads.add();
  statistics().bytes_loaded.add(block.bytes);
  return CUDA_SUCCESS;
}

CUresult Transfers::give_back(Claim& claim) {
  for (Move& move : claim.moves) {
    if (move.to != kNoGranule) continue;
    if (const CUresult result = chunks_.release(*move.chunk); result != CUDA_SUCCESS) return result;
    move.exists = false;
  }
  return CUDA_SUCCESS;
}

void Transfers::release_victims(Claim& claim) {
  for (Tensor* victim : claim.victims) --victim->transit;
  claim.victims.clear();
}

void Transfers::commit(Claim& claim) {
  const std::lock_guard lock(state_.mutex);
  for (Move& move : claim.moves) {
    if (move.target == nullptr) {
      state_.chunks.removed(*move.chunk);
      continue;
    }
    state_.chunks.assigned(*move.chunk);
    --move.target->missing;
    if (move.target->touched) state_.retire(std::exchange(move.target->host[move.target_granule()], {}));
  }
  for (Tensor* tensor : claim.targets) {
    --tensor->transit;
    streams_.prune(tensor->ready);
    if (tensor->missing == 0) tensor->host.clear();
  }
  release_victims(claim);
  state_.note_levels();
  state_.changed.notify_all();
}

// A victim whose chunk is still mapped in its place gets it back, copied or not; the others stay evicted.
void Transfers::abandon(Claim& claim) {
  const Point copies = streams_.publish(out_);  // some may have been submitted
  const Point loads = streams_.publish(in_);
  const std::lock_guard lock(state_.mutex);
  for (Move& move : claim.moves) {
    const bool still_there = move.victim != nullptr && move.from != kNoGranule;
    if (!move.exists) {
      state_.chunks.removed(*move.chunk);
    } else if (still_there) {
      (*state_.arena)[move.from] = {move.victim, move.chunk, false};
      HostBlock unused;
      if (!move.victim->host.empty()) std::swap(unused, block_of(move));
      if (unused.data == nullptr) state_.host_bytes -= host_footprint(state_, *move.victim, move.victim_granule);
      state_.retire(std::move(unused));
      state_.chunks.assigned(*move.chunk);
      merge(move.chunk->ready, copies);
      --move.victim->missing;
    } else {
      if (move.from != kNoGranule) {
        (*state_.arena)[move.from].leaving = false;
        (*state_.arena)[move.from].chunk = move.chunk;
      }
      merge(move.chunk->ready, loads);
      state_.chunks.freed(*move.chunk);
    }
  }
  for (Tensor* tensor : claim.targets) --tensor->transit;
  release_victims(claim);
  state_.changed.notify_all();
}

CUresult Transfers::move(Claim& claim) {
  streams_.poll();  // so that host blocks whose copies are done can be used again
  CUresult result = copy_out(claim);
  if (result == CUDA_SUCCESS) result = create_missing(claim);
  if (result == CUDA_SUCCESS) result = unmap_old(claim);
  if (result == CUDA_SUCCESS) result = map_new(claim);
  if (result == CUDA_SUCCESS) result = give_back(claim);
  if (result == CUDA_SUCCESS) result = load(claim);
  return result;
}

CUresult Transfers::carry_out(Claim& claim) {
  CUresult result = CUDA_SUCCESS;
  try {
    result = move(claim);
  } catch (const std::bad_alloc&) {
    result = CUDA_ERROR_OUT_OF_MEMORY;  // what was claimed must not stay so
  }
  if (result != CUDA_SUCCESS) {
    abandon(claim);
    return result;
  }
  commit(claim);
  return CUDA_SUCCESS;
}

}  // namespace tensorpager
