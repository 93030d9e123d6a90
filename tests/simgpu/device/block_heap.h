#pragma once

// Divides segments of device memory into blocks, 512 bytes at the least. A freed block carries the frees that must come
// before its next use (stream-ordered pools); without guards it is a plain first-fit heap.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "tests/simgpu/device/op.h"

namespace simgpu {

inline constexpr std::uint64_t kBlockAlignment = 512;

class BlockHeap {
 public:
  /// The free of a block, as an op of a stream.
  struct Guard {
    std::uint32_t stream;
    std::uint64_t index;
    OpRef op;
  };
  using Passes = std::function<bool(const Guard&)>;

  void add_segment(std::uint64_t address, std::uint64_t bytes);
  void remove_segment(std::uint64_t address);
  /// A block whose guards all pass; lowest address first.
  std::optional<std::uint64_t> take(std::uint64_t bytes, const Passes& passes);
  /// As take, and tells the guards that the caller must order itself after.
  std::optional<std::uint64_t> take_guarded(std::uint64_t bytes, std::vector<Guard>& guards);
  void give_back(std::uint64_t address, std::vector<Guard> guards);
  /// Segments without a live block and whose guards all pass.
  std::vector<std::uint64_t> idle_segments(const Passes& passes) const;

  std::uint64_t segment_bytes(std::uint64_t address) const { return segments_.at(address); }
  std::uint64_t reserved() const noexcept { return reserved_; }
  std::uint64_t used() const noexcept { return used_; }
  const std::map<std::uint64_t, std::uint64_t>& segments() const noexcept { return segments_; }

 private:
  struct Free {
    std::uint64_t bytes;
    std::vector<Guard> guards;
  };
  using FreeBlocks = std::map<std::uint64_t, Free>;
  std::uint64_t occupy(FreeBlocks::iterator block, std::uint64_t bytes);
  static void join(std::vector<Guard>& into, const std::vector<Guard>& guards);

  std::map<std::uint64_t, std::uint64_t> segments_;  // address -> bytes
  std::map<std::uint64_t, std::uint64_t> live_;      // address -> bytes
  FreeBlocks free_;
  std::uint64_t reserved_ = 0, used_ = 0;
};

}  // namespace simgpu
