#pragma once

// Free ranges of an address or offset space, handed out first fit from the lowest, so that the same requests give the
// same addresses in every run.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace simgpu {

struct Range {
  std::uint64_t begin;
  std::uint64_t bytes;
  std::uint64_t end() const noexcept { return begin + bytes; }
};

class AddressRanges {
 public:
  AddressRanges(std::uint64_t begin, std::uint64_t bytes) { free_[begin] = begin + bytes; }

  /// `alignment` is a power of two.
  std::optional<std::uint64_t> take(std::uint64_t bytes, std::uint64_t alignment);
  /// Takes exactly that range; false when part of it is taken.
  bool take_at(std::uint64_t begin, std::uint64_t bytes);
  /// Takes `bytes` in as many pieces as the free ranges ask for; empty when there is less.
  std::vector<Range> take_pieces(std::uint64_t bytes);
  void give_back(std::uint64_t begin, std::uint64_t bytes);

 private:
  void cut(std::map<std::uint64_t, std::uint64_t>::iterator range, std::uint64_t begin, std::uint64_t end);
  std::map<std::uint64_t, std::uint64_t> free_;  // begin -> end, never adjacent
};

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t alignment) noexcept {
  return (value + alignment - 1) / alignment * alignment;
}

}  // namespace simgpu
