#include "runtime/transfers.h"

#include <algorithm>

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

CUresult Transfers::copy_out_one(const Move& move, HostBlock& block) {
  Tensor& victim = *move.victim;
  block.bytes = victim.granule_bytes(move.victim_granule, state_.arena->granularity());
  block.data = state_.host->allocate(block.bytes);
  if (block.data == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
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
    if (!move.create) continue;
    const CUresult result = chunks_.create(*move.chunk);
    if (result != CUDA_SUCCESS) return result;
    move.create = false;
    statistics().chunks_created.add();
  }
  return CUDA_SUCCESS;
}

// The host waits for the last use through each mapping that goes, since an unmap waits for nothing.
CUresult Transfers::hand_over(Claim& claim) {
  Points last;
  std::vector<GranuleIndex> leave;
  std::vector<Chunk*> chunks;
  std::vector<GranuleIndex> arrive;
  for (const Move& move : claim.moves) {
    if (move.from != kNoGranule) {
      merge(last, move.chunk->ready);
      leave.push_back(move.from);
    }
    if (move.to != kNoGranule && move.chunk->mapped != move.to) {
      chunks.push_back(move.chunk);
      arrive.push_back(move.to);
    }
  }
  CUresult result = streams_.wait_host(last);
  if (result != CUDA_SUCCESS) return result;
  result = chunks_.unmap(leave);
  if (result != CUDA_SUCCESS) return result;
  statistics().unmaps.add(leave.size());
  {
    const std::lock_guard lock(state_.mutex);
    for (Move& move : claim.moves) {
      if (move.from == kNoGranule) continue;
      (*state_.arena)[move.from].leaving = false;
      move.from = kNoGranule;
      move.chunk->mapped = kNoGranule;
      move.chunk->ready.clear();
    }
  }
  result = chunks_.map(chunks, arrive);
  if (result != CUDA_SUCCESS) return result;
  statistics().maps.add(arrive.size());
  const std::lock_guard lock(state_.mutex);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    chunks[i]->mapped = arrive[i];
    (*state_.arena)[arrive[i]].chunk = chunks[i];
  }
  return CUDA_SUCCESS;
}

CUresult Transfers::load_tensor(Tensor& tensor, const Points& after) {
  CUresult result = streams_.order(in_, after);
  std::size_t loaded = 0;
  for (std::uint32_t granule = 0; granule < tensor.host.size() && result == CUDA_SUCCESS; ++granule) {
    HostBlock& block = tensor.host[granule];
    if (block.data == nullptr) continue;
    result = streams_.order(in_, block.busy);
    if (result != CUDA_SUCCESS) break;
    result = driver().cuMemcpyHtoDAsync_v2(state_.arena->address(tensor.first + granule), block.data, block.bytes,
                                           streams_.handle(in_));
    loaded += block.bytes;
    statistics().loads.add();
  }
  statistics().bytes_loaded.add(loaded);
  return result;
}

CUresult Transfers::load(Claim& claim) {
  for (Tensor* tensor : claim.targets) {
    Points overwritable;
    for (const Move& move : claim.moves) {
      const bool ours = move.to >= tensor->first && move.to < tensor->first + tensor->granules;
      if (move.to != kNoGranule && ours) merge(overwritable, move.chunk->ready);
    }
    if (!tensor->touched) {
      merge(tensor->ready, overwritable);
      continue;
    }
    if (const CUresult result = load_tensor(*tensor, overwritable); result != CUDA_SUCCESS) return result;
    const Point loaded = streams_.publish(in_);
    merge(tensor->ready, loaded);
    for (HostBlock& block : tensor->host) {
      if (block.data != nullptr) merge(block.busy, loaded);
    }
  }
  return CUDA_SUCCESS;
}

CUresult Transfers::give_back(Claim& claim) {
  for (const Move& move : claim.moves) {
    if (move.to != kNoGranule) continue;
    if (const CUresult result = chunks_.release(*move.chunk); result != CUDA_SUCCESS) return result;
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
    move.to != kNoGranule ? state_.chunks.assigned(*move.chunk) : state_.chunks.removed(*move.chunk);
  }
  for (Tensor* tensor : claim.targets) {
    tensor->missing = 0;
    --tensor->transit;
    streams_.prune(tensor->ready);
    for (HostBlock& block : tensor->host) state_.retire(std::move(block));
    tensor->host.clear();
  }
  release_victims(claim);
  state_.note_levels();
  state_.changed.notify_all();
}

// A victim whose bytes were not copied gets its chunk back where that is still mapped; one that was copied stays
// evicted.
void Transfers::abandon(Claim& claim) {
  const Point loads = streams_.publish(in_);  // some may have been submitted
  const std::lock_guard lock(state_.mutex);
  for (Move& move : claim.moves) {
    const bool still_there = move.victim != nullptr && move.from != kNoGranule;
    if (move.create) {
      state_.chunks.removed(*move.chunk);
    } else if (still_there) {
      (*state_.arena)[move.from] = {move.victim, move.chunk, false};
      HostBlock unused;
      if (!move.victim->host.empty()) std::swap(unused, block_of(move));
      if (move.victim->touched)
        state_.host_bytes -= move.victim->granule_bytes(move.victim_granule, state_.arena->granularity());
      if (unused.data != nullptr) {
        state_.host_bytes += unused.bytes;
        state_.retire(std::move(unused));
      }
      state_.chunks.assigned(*move.chunk);
      --move.victim->missing;
    } else {
      if (move.from != kNoGranule) {
        (*state_.arena)[move.from].leaving = false;
        (*state_.arena)[move.from].chunk = move.chunk;
      }
      merge(move.chunk->ready, loads);
      state_.chunks.put_back(*move.chunk);
    }
  }
  for (Tensor* tensor : claim.targets) --tensor->transit;
  release_victims(claim);
  state_.changed.notify_all();
}

CUresult Transfers::carry_out(Claim& claim) {
  CUresult result = copy_out(claim);
  if (result == CUDA_SUCCESS) result = create_missing(claim);
  if (result == CUDA_SUCCESS) result = hand_over(claim);
  if (result == CUDA_SUCCESS) result = give_back(claim);
  if (result == CUDA_SUCCESS) result = load(claim);
  if (result != CUDA_SUCCESS) {
    abandon(claim);
    return result;
  }
  commit(claim);
  return CUDA_SUCCESS;
}

}  // namespace tensorpager
