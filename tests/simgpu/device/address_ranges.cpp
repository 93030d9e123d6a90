#include "tests/simgpu/device/address_ranges.h"

#include <algorithm>
#include <iterator>

namespace simgpu {

void AddressRanges::cut(std::map<std::uint64_t, std::uint64_t>::iterator range, std::uint64_t begin,
                        std::uint64_t end) {
  const auto [free_begin, free_end] = *range;
  free_.erase(range);
  if (free_begin < begin) free_[free_begin] = begin;
  if (end < free_end) free_[end] = free_end;
}

std::optional<std::uint64_t> AddressRanges::take(std::uint64_t bytes, std::uint64_t alignment) {
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    const std::uint64_t begin = round_up(range->first, alignment);
    if (begin < range->second && range->second - begin >= bytes) {
      cut(range, begin, begin + bytes);
      return begin;
    }
  }
  return std::nullopt;
}

bool AddressRanges::take_at(std::uint64_t begin, std::uint64_t bytes) {
  auto range = free_.upper_bound(begin);
  if (range == free_.begin()) return false;
  --range;
  if (range->second < begin || range->second - begin < bytes) return false;
  cut(range, begin, begin + bytes);
  return true;
}

std::vector<Range> AddressRanges::take_pieces(std::uint64_t bytes) {
  std::vector<Range> pieces;
  while (bytes > 0 && !free_.empty()) {
    const auto range = free_.begin();
    const std::uint64_t piece = std::min(bytes, range->second - range->first);
    pieces.push_back({range->first, piece});
    cut(range, range->first, range->first + piece);
    bytes -= piece;
  }
  if (bytes == 0) return pieces;
  for (const Range& piece : pieces) give_back(piece.begin, piece.bytes);
  return {};
}

void AddressRanges::give_back(std::uint64_t begin, std::uint64_t bytes) {
  std::uint64_t end = begin + bytes;
  auto next = free_.lower_bound(begin);
  if (next != free_.end() && next->first == end) {
    end = next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin() && std::prev(next)->second == begin) {
    std::prev(next)->second = end;
  } else {
    free_[begin] = end;
  }
}

}  // namespace simgpu
