#pragma once

// The one reserved range of device addresses that all managed memory lies in, cut into granules of the driver's
// granularity. Answers "is this word one of ours" with one subtraction and one compare, and hands out runs of granules.
//
// Threads: contains() and index() from any thread after reserve(); the rest under the pager's mutex.

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <tl/expected.hpp>
#include <unordered_map>
#include <vector>

#include "runtime/stream_table.h"

namespace tensorpager {

using GranuleIndex = std::uint32_t;
inline constexpr GranuleIndex kNoGranule = ~GranuleIndex{0};

struct Tensor;
struct Chunk;

/// One chunk-sized piece of the arena.
struct Granule {
  Tensor* tensor = nullptr;  ///< whose bytes lie here; null: free
  Chunk* chunk = nullptr;    ///< `mapped`: the chunk that the driver has here; being mapped alone means nothing
  bool leaving = false;      ///< a thread is about to unmap what was here: nothing may be mapped until it has
};

class Arena {
 public:
  /// Reserves addresses. `bytes` is rounded to granules, and cut to at most kMostGranules of them; halved until the
  /// driver has as many.
  static tl::expected<std::unique_ptr<Arena>, CUresult> reserve(std::size_t bytes, std::size_t granularity);

  /// Only when the pager could not start: nothing is mapped then.
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  CUdeviceptr base() const noexcept { return base_; }
  std::size_t granularity() const noexcept { return granularity_; }
  bool contains(CUdeviceptr address) const noexcept { return address - base_ < bytes_; }
  GranuleIndex index(CUdeviceptr address) const noexcept {
    return static_cast<GranuleIndex>((address - base_) >> shift_);
  }
  CUdeviceptr address(GranuleIndex granule) const noexcept { return base_ + (std::size_t{granule} << shift_); }
  /// Of at most bytes() bytes.
  std::uint32_t granules_of(std::size_t bytes) const noexcept {
    return static_cast<std::uint32_t>((bytes + granularity_ - 1) >> shift_);
  }
  std::size_t bytes() const noexcept { return bytes_; }

  Granule& operator[](GranuleIndex granule) noexcept { return granules_[granule]; }
  /// Who owns the address, or nullptr.
  Tensor* tensor_at(CUdeviceptr address) noexcept {
    return contains(address) ? granules_[index(address)].tensor : nullptr;
  }

  /// A run of granules, or kNoGranule. A run that was given back on the same stream comes first, since its mappings may
  /// still stand and its use needs no wait; then the one given back longest ago, then fresh addresses.
  GranuleIndex take(std::uint32_t count, StreamId stream);
  void give_back(GranuleIndex first, std::uint32_t count, StreamId stream);

 private:
  static constexpr std::size_t kMostGranules = std::size_t{1} << 20;
  struct Run {
    GranuleIndex first;
    StreamId stream;
  };

  Arena(CUdeviceptr base, std::size_t bytes, std::size_t granularity) noexcept;
  GranuleIndex take_same_size(std::uint32_t count, StreamId stream);
  GranuleIndex take_joined(std::uint32_t count);

  const CUdeviceptr base_;
  const std::size_t bytes_;
  const std::size_t granularity_;
  const unsigned shift_;
  const std::unique_ptr<Granule[], void (*)(Granule*)> granules_;  // pages of it that are never touched take no memory
  GranuleIndex fresh_ = 0;
  std::unordered_map<std::uint32_t, std::vector<Run>> given_back_;  // by size, oldest first
};

}  // namespace tensorpager
