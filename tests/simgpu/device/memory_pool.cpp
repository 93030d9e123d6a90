#include "tests/simgpu/device/memory_pool.h"

#include <algorithm>

namespace simgpu {

MemoryPool::~MemoryPool() {
  const auto segments = heap_.segments();
  for (const auto& [address, bytes] : segments) segments_.close(address);
}

bool MemoryPool::grow(std::uint64_t bytes) {
  if (max_bytes_ != 0 && heap_.reserved() + bytes > max_bytes_) return false;
  const auto segment = segments_.open(bytes);
  if (!segment) return false;
  heap_.add_segment(*segment, bytes);
  marks.reserved_high = std::max(marks.reserved_high, heap_.reserved());
  return true;
}

std::optional<MemoryPool::Block> MemoryPool::found(std::optional<std::uint64_t> address, std::uint64_t grown) {
  if (!address) return std::nullopt;
  marks.used_high = std::max(marks.used_high, heap_.used());
  return Block{*address, {}, grown};
}

std::optional<MemoryPool::Block> MemoryPool::allocate(const Scheduler& scheduler, const Stream& stream,
                                                      std::uint64_t bytes) {
  const auto reusable = [&](const BlockHeap::Guard& guard) {
    return guard.stream == stream.ordinal || (policy.opportunistic && scheduler.ended(guard.op)) ||
           (policy.follow_events && Scheduler::ordered_after(stream, guard.stream, guard.index));
  };
  if (const auto block = found(heap_.take(bytes, reusable), 0)) return block;
  const std::uint64_t segment = segments_.rounded(bytes);
  if (grow(segment)) return found(heap_.take(bytes, reusable), segment);
  if (policy.internal_dependencies) {
    std::vector<BlockHeap::Guard> guards;
    if (auto block = found(heap_.take_guarded(bytes, guards), 0)) {
      for (const auto& guard : guards) block->after.push_back(guard.op);
      return block;
    }
  }
  trim(scheduler, 0);
  return grow(segment) ? found(heap_.take(bytes, reusable), segment) : std::nullopt;
}

void MemoryPool::free(std::uint64_t address, const OpRef& op) {
  if (op) {
    heap_.give_back(address, {{op->stream, op->index, op}});
  } else {
    heap_.give_back(address, {});
  }
}

void MemoryPool::trim(const Scheduler& scheduler, std::uint64_t keep) {
  if (heap_.reserved() <= keep) return;
  const auto ended = [&](const BlockHeap::Guard& guard) { return scheduler.ended(guard.op); };
  for (const std::uint64_t segment : heap_.idle_segments(ended)) {
    if (heap_.reserved() - heap_.segment_bytes(segment) < keep) continue;
    heap_.remove_segment(segment);
    segments_.close(segment);
  }
}

}  // namespace simgpu
