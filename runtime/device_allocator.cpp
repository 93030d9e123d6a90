#include "runtime/device_allocator.h"

#include <algorithm>

#include "runtime/log.h"
#include "runtime/statistics.h"

namespace tensorpager {
namespace {

// Host room that no tensor may count on: when all else is full, a granule goes out before another comes in.
constexpr std::uint32_t kSwapGranules = 1;

}  // namespace

CUresult DeviceAllocator::refuse(std::size_t bytes) {
  statistics().refused_allocs.add();
  const std::size_t grain = state_.arena->granularity();
  TENSORPAGER_LOG(
      warn, "budget",
      "out of memory: asked {} KiB; live {} MiB, room for {} MiB on the device and {} MiB on the host. Raise budget or "
      "host_budget",
      (bytes + 1023) >> 10, state_.live_granules * grain >> 20, state_.chunk_capacity() * grain >> 20,
      state_.host->usable() >> 20);
  return CUDA_ERROR_OUT_OF_MEMORY;
}

bool DeviceAllocator::admits(std::uint32_t granules, bool fixed) const {
  if (fixed && state_.fixed_granules + granules > state_.chunk_capacity()) return false;
  return state_.live_granules + granules + kSwapGranules <= state_.chunk_capacity() + state_.host_capacity_granules();
}

Tensor* DeviceAllocator::add_tensor(std::size_t bytes, StreamId stream, bool fixed) {
  if (bytes > state_.arena->bytes()) return nullptr;
  const std::uint32_t granules = state_.arena->granules_of(bytes);
  if (!admits(granules, fixed)) return nullptr;
  auto tensor = std::make_unique<Tensor>();
  tensor->first = state_.arena->take(granules, stream);
  if (tensor->first == kNoGranule) return nullptr;
  tensor->granules = tensor->missing = granules;
  tensor->bytes = bytes;
  tensor->fixed = fixed;
  tensor->generation = ++state_.generations;
  for (std::uint32_t i = 0; i < granules; ++i) (*state_.arena)[tensor->first + i].tensor = tensor.get();
  state_.live_granules += granules;
  if (fixed) state_.fixed_granules += granules;
  state_.tensors.push_back(*tensor);
  return tensor.release();
}

CUresult DeviceAllocator::allocate_small(CUdeviceptr* address, std::size_t bytes, StreamId stream) {
  std::optional<Block> block;
  {
    const Lock lock(state_.mutex);
    block = slabs_.take(bytes);
    if (!block) {
      Tensor* slab = add_tensor(state_.arena->granularity(), stream, true);
      if (slab == nullptr) return refuse(bytes);
      slab->slab = true;
      slabs_.add_slab(state_.arena->address(slab->first), slab->bytes);
      block = slabs_.take(bytes);
    }
  }
  *address = block->address;
  const CUresult result = streams_.order(stream, block->wait_for);
  if (result == CUDA_SUCCESS) return result;
  const Lock lock(state_.mutex);
  slabs_.give_back(block->address, block->wait_for);
  return result;
}

CUresult DeviceAllocator::allocate(CUdeviceptr* address, std::size_t bytes, StreamId stream) {
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const bool fixed = bytes < min_block_;
  if (fixed && bytes < state_.arena->granularity()) {
    const CUresult result = allocate_small(address, bytes, stream);
    if (result == CUDA_SUCCESS) statistics().tensor_added(bytes);
    return result;
  }
  const Lock lock(state_.mutex);
  const Tensor* tensor = add_tensor(bytes, stream, fixed);
  if (tensor == nullptr) return refuse(bytes);
  *address = state_.arena->address(tensor->first);
  statistics().tensor_added(bytes);
  return CUDA_SUCCESS;
}

void DeviceAllocator::remove_tensor(Tensor& tensor, const Points& freed, StreamId stream, Lock& lock) {
  // An evictor that has it in hand is soon done; it waits for nothing that the caller could hold up.
  state_.changed.wait(lock, [&] { return tensor.transit == 0; });
  Points ready = freed;
  merge(ready, tensor.ready);
  for (std::uint32_t i = 0; i < tensor.granules; ++i) {
    const GranuleIndex granule = tensor.first + i;
    if (state_.resident(granule)) {
      Chunk& chunk = *(*state_.arena)[granule].chunk;
      merge(chunk.ready, ready);
      state_.chunks.freed(chunk);
    }
    (*state_.arena)[granule].tensor = nullptr;
  }
  for (HostBlock& block : tensor.host) state_.retire(std::move(block));
  state_.live_granules -= tensor.granules;
  if (tensor.fixed) state_.fixed_granules -= tensor.granules;
  state_.tensors.erase(TensorList::s_iterator_to(tensor));
  tensor.dead = true;
  state_.arena->give_back(tensor.first, tensor.granules, stream);
  state_.changed.notify_all();
  if (tensor.pins == 0) delete &tensor;
}

CUresult DeviceAllocator::free_at(CUdeviceptr address, Point freed, StreamId stream) {
  Lock lock(state_.mutex);
  Points points;
  merge(points, freed);
  Tensor* tensor = state_.arena->tensor_at(address);
  if (tensor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (tensor->slab) {
    const auto small = slabs_.find(address);
    const auto empty = small ? slabs_.give_back(address, points) : std::nullopt;
    if (!empty) return CUDA_ERROR_INVALID_VALUE;
    statistics().tensor_removed(small->bytes);
    if (*empty != 0) remove_tensor(*tensor, slabs_.remove_slab(*empty), stream, lock);
    return CUDA_SUCCESS;
  }
  if (state_.arena->address(tensor->first) != address) return CUDA_ERROR_INVALID_VALUE;
  statistics().tensor_removed(tensor->bytes);
  remove_tensor(*tensor, points, stream, lock);
  return CUDA_SUCCESS;
}

CUresult DeviceAllocator::free(CUdeviceptr address, StreamId stream) {
  return free_at(address, streams_.publish(stream), stream);
}

CUresult DeviceAllocator::free_synchronously(CUdeviceptr address) {
  Points uses;
  {
    const Lock lock(state_.mutex);
    const Tensor* tensor = state_.arena->tensor_at(address);
    if (tensor == nullptr) return CUDA_ERROR_INVALID_VALUE;
    uses = tensor->last_use;
    merge(uses, tensor->ready);
  }
  // As long as it takes: this wait is the job's own, and the driver would not give it up either.
  if (const CUresult result = streams_.wait_host_unbounded(uses); result != CUDA_SUCCESS) return result;
  return free_at(address, Point{}, streams_.find({}));
}

std::optional<Allocation> DeviceAllocator::find(CUdeviceptr address) {
  const Lock lock(state_.mutex);
  const Tensor* tensor = state_.arena->tensor_at(address);
  if (tensor == nullptr) return std::nullopt;
  if (tensor->slab) {
    const auto block = slabs_.find(address);
    if (!block) return std::nullopt;
    // Slabs are one granule, so the offset keeps the numbers of neighbours apart.
    return Allocation{block->address, block->bytes, (tensor->generation << 32) | (block->address & 0xFFFFFFFF)};
  }
  const CUdeviceptr base = state_.arena->address(tensor->first);
  if (address - base >= tensor->bytes) return std::nullopt;
  return Allocation{base, tensor->bytes, tensor->generation << 32};
}

std::size_t DeviceAllocator::free_bytes() {
  const Lock lock(state_.mutex);
  const std::size_t room = state_.budget.for_chunks();
  const std::size_t live = state_.live_granules * state_.arena->granularity();
  return room > live ? room - live : 0;
}

}  // namespace tensorpager
