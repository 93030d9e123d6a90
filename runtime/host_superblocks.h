#pragma once

// The extent hooks behind HostPool: page-locked superblocks, cut from the front, never given back.

#include <jemalloc/jemalloc.h>

#include <cstddef>
#include <mutex>
#include <vector>

namespace tensorpager {

class HostSuperblocks {
 public:
  explicit HostSuperblocks(std::size_t capacity) noexcept;
  HostSuperblocks(const HostSuperblocks&) = delete;
  HostSuperblocks& operator=(const HostSuperblocks&) = delete;

  extent_hooks_t* hooks() noexcept { return &hooks_.table; }

 private:
  // jemalloc hands the table back to each hook; what belongs to it stands behind it.
  struct Hooks {
    extent_hooks_t table;
    HostSuperblocks* owner;
  };
  struct Superblock {
    std::byte* next;
    std::byte* end;
  };

  static void* allocate_extent(extent_hooks_t*, void*, std::size_t, std::size_t, bool*, bool*, unsigned) noexcept;
  std::byte* cut(std::size_t bytes, std::size_t alignment) noexcept;
  bool add(std::size_t bytes) noexcept;

  Hooks hooks_{};
  std::mutex mutex_;
  std::vector<Superblock> superblocks_;
  std::size_t left_;  // bytes that may still be taken from the machine
};

}  // namespace tensorpager
