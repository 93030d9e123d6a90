#include "runtime/slabs.h"

#include <algorithm>

namespace tensorpager {

std::optional<Block> Slabs::take(std::size_t bytes) {
  const std::size_t size = (std::max<std::size_t>(bytes, 1) + kAlignment - 1) & ~(kAlignment - 1);
  for (auto& [slab, extents] : slabs_) {
    for (auto& [address, extent] : extents) {
      if (extent.asked != 0 || extent.bytes < size) continue;
      if (extent.bytes > size) {
        extents.emplace(address + size, Extent{extent.bytes - size, 0, extent.ready});
        extent.bytes = size;
      }
      extent.asked = bytes;
      Block block{address, bytes, std::move(extent.ready)};
      extent.ready.clear();
      return block;
    }
  }
  return std::nullopt;
}

void Slabs::add_slab(CUdeviceptr address, std::size_t bytes) {
  slabs_[address].emplace(address, Extent{bytes, 0, {}});
}

std::optional<Block> Slabs::find(CUdeviceptr address) const {
  auto slab = slabs_.upper_bound(address);
  if (slab == slabs_.begin()) return std::nullopt;
  const Extents& extents = (--slab)->second;
  auto extent = extents.upper_bound(address);
  if (extent == extents.begin()) return std::nullopt;
  --extent;
  if (extent->second.asked == 0 || address >= extent->first + extent->second.bytes) return std::nullopt;
  return Block{extent->first, extent->second.asked, {}};
}

Slabs::Extents::iterator Slabs::merge_neighbours(Extents& extents, Extents::iterator extent) {
  const auto absorb = [&](Extents::iterator left, Extents::iterator right) {
    left->second.bytes += right->second.bytes;
    merge(left->second.ready, right->second.ready);
    extents.erase(right);
    return left;
  };
  const auto next = std::next(extent);
  if (next != extents.end() && next->second.asked == 0) absorb(extent, next);
  if (extent == extents.begin()) return extent;
  const auto previous = std::prev(extent);
  return previous->second.asked == 0 ? absorb(previous, extent) : extent;
}

std::optional<CUdeviceptr> Slabs::give_back(CUdeviceptr address, const Points& freed) {
  auto slab = slabs_.upper_bound(address);
  if (slab == slabs_.begin()) return std::nullopt;
  --slab;
  Extents& extents = slab->second;
  const auto extent = extents.find(address);
  if (extent == extents.end() || extent->second.asked == 0) return std::nullopt;
  extent->second.asked = 0;
  merge(extent->second.ready, freed);
  merge_neighbours(extents, extent);
  const bool empty = extents.size() == 1 && extents.begin()->second.asked == 0;
  return empty ? slab->first : 0;
}

Points Slabs::remove_slab(CUdeviceptr slab) {
  const auto found = slabs_.find(slab);
  Points ready = std::move(found->second.begin()->second.ready);
  slabs_.erase(found);
  return ready;
}

}  // namespace tensorpager
