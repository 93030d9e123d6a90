#pragma once

// Host memory for what was evicted: a jemalloc arena whose extent hooks hand out page-locked superblocks and keep them
// for ever. Inside, sizes are exact.
//
// Accounting: the blocks that are allocated, not the superblocks, count against the capacity; superblocks are cut to
// what the capacity leaves. Where the driver cannot page-lock, a superblock is pageable: copies are slower and still
// right.
//
// Threads: any. allocate() may call the driver (cuMemHostAlloc, under jemalloc's locks); release() never does.

#include <cstddef>
#include <memory>
#include <tl/expected.hpp>

namespace tensorpager {

class HostSuperblocks;

/// Bytes that a process may take without pressing the host: half of what is available now, within the cgroup's limit.
std::size_t default_host_capacity() noexcept;

class HostPool {
 public:
  /// nullptr when jemalloc has no further arena.
  static std::unique_ptr<HostPool> create(std::size_t capacity);
  ~HostPool();

  /// nullptr when there is no memory.
  std::byte* allocate(std::size_t bytes) noexcept;
  void release(std::byte* block, std::size_t bytes) noexcept;

  /// What a block of `bytes` takes of the capacity: its size class, and the page that jemalloc puts before it.
  static std::size_t footprint(std::size_t bytes) noexcept;
  /// Footprints that fit together; the rest is lost at the ends of superblocks.
  std::size_t usable() const noexcept { return capacity_ / 100 * kUsablePercent; }

 private:
  static constexpr std::size_t kUsablePercent = 98;

  explicit HostPool(std::size_t capacity) noexcept : capacity_(capacity) {}

  const std::size_t capacity_;
  unsigned arena_ = 0;
  HostSuperblocks* superblocks_ = nullptr;  // never freed: jemalloc refers to its hooks as long as the process lives
};

}  // namespace tensorpager
