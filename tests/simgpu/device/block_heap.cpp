#include "tests/simgpu/device/block_heap.h"

#include <algorithm>
#include <iterator>

#include "tests/simgpu/device/address_ranges.h"

namespace simgpu {

void BlockHeap::add_segment(std::uint64_t address, std::uint64_t bytes) {
  segments_[address] = bytes;
  free_[address] = {bytes, {}};
  reserved_ += bytes;
}

void BlockHeap::remove_segment(std::uint64_t address) {
  reserved_ -= segments_.at(address);
  segments_.erase(address);
  free_.erase(address);
}

std::uint64_t BlockHeap::occupy(FreeBlocks::iterator block, std::uint64_t bytes) {
  const std::uint64_t address = block->first;
  Free rest = std::move(block->second);
  free_.erase(block);
  rest.bytes -= bytes;
  if (rest.bytes > 0) free_[address + bytes] = std::move(rest);
  live_[address] = bytes;
  used_ += bytes;
  return address;
}

std::optional<std::uint64_t> BlockHeap::take(std::uint64_t bytes, const Passes& passes) {
  bytes = round_up(bytes, kBlockAlignment);
  for (auto block = free_.begin(); block != free_.end(); ++block) {
    const Free& free = block->second;
    if (free.bytes >= bytes && std::all_of(free.guards.begin(), free.guards.end(), passes)) return occupy(block, bytes);
  }
  return std::nullopt;
}

std::optional<std::uint64_t> BlockHeap::take_guarded(std::uint64_t bytes, std::vector<Guard>& guards) {
  bytes = round_up(bytes, kBlockAlignment);
  const auto block =
      std::find_if(free_.begin(), free_.end(), [&](const auto& free) { return free.second.bytes >= bytes; });
  if (block == free_.end()) return std::nullopt;
  guards = block->second.guards;
  return occupy(block, bytes);
}

// One guard a stream is enough: the latest free of a stream comes after its earlier ones.
void BlockHeap::join(std::vector<Guard>& into, const std::vector<Guard>& guards) {
  for (const Guard& guard : guards) {
    const auto same =
        std::find_if(into.begin(), into.end(), [&](const Guard& other) { return other.stream == guard.stream; });
    if (same == into.end()) {
      into.push_back(guard);
    } else if (same->index < guard.index) {
      *same = guard;
    }
  }
}

void BlockHeap::give_back(std::uint64_t address, std::vector<Guard> guards) {
  const auto live = live_.find(address);
  std::uint64_t bytes = live->second;
  used_ -= bytes;
  live_.erase(live);
  auto next = free_.lower_bound(address);
  // A segment's first block never joins what lies before it.
  if (next != free_.end() && next->first == address + bytes && !segments_.contains(next->first)) {
    join(guards, next->second.guards);
    bytes += next->second.bytes;
    next = free_.erase(next);
  }
  if (next != free_.begin() && !segments_.contains(address)) {
    const auto before = std::prev(next);
    if (before->first + before->second.bytes == address) {
      join(before->second.guards, guards);
      before->second.bytes += bytes;
      return;
    }
  }
  free_[address] = {bytes, std::move(guards)};
}

std::vector<std::uint64_t> BlockHeap::idle_segments(const Passes& passes) const {
  std::vector<std::uint64_t> idle;
  for (const auto& [address, bytes] : segments_) {
    const auto block = free_.find(address);
    if (block == free_.end() || block->second.bytes != bytes) continue;
    const auto& guards = block->second.guards;
    if (std::all_of(guards.begin(), guards.end(), passes)) idle.push_back(address);
  }
  return idle;
}

}  // namespace simgpu
