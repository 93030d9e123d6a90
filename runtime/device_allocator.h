#pragma once

// Stream-ordered allocation inside the arena. An allocation is an address and accounting; chunks come at the first use.

#include <cuda.h>

#include <cstddef>
#include <optional>

#include "runtime/pager_state.h"
#include "runtime/slabs.h"

namespace tensorpager {

/// What an address inside the arena belongs to.
struct Allocation {
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  std::uint64_t id = 0;  ///< unique in the process
};

class DeviceAllocator {
 public:
  DeviceAllocator(PagerState& state, StreamTable& streams, std::size_t min_block) noexcept
      : state_(state), streams_(streams), min_block_(min_block) {}

  CUresult allocate(CUdeviceptr* address, std::size_t bytes, StreamId stream);
  /// In stream order: what was submitted to the stream so far is the last that uses it.
  CUresult free(CUdeviceptr address, StreamId stream);
  /// cuMemFree on stream-ordered memory: the host waits for every use first.
  CUresult free_synchronously(CUdeviceptr address);

  std::optional<Allocation> find(CUdeviceptr address);
  /// cuMemGetInfo's free bytes.
  std::size_t free_bytes();

 private:
  using Lock = std::unique_lock<std::mutex>;

  Tensor* add_tensor(std::size_t bytes, StreamId stream, bool fixed);
  bool admits(std::uint32_t granules, bool fixed) const;
  CUresult allocate_small(CUdeviceptr* address, std::size_t bytes, StreamId stream);
  CUresult free_at(CUdeviceptr address, Point freed, StreamId stream);
  void remove_tensor(Tensor& tensor, const Points& freed, StreamId stream, Lock& lock);
  CUresult refuse(std::size_t bytes);

  PagerState& state_;
  StreamTable& streams_;
  const std::size_t min_block_;
  Slabs slabs_;
};

}  // namespace tensorpager
