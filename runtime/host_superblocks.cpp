#include "runtime/host_superblocks.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>

#include "runtime/driver.h"
#include "runtime/log.h"

namespace tensorpager {
namespace {

constexpr std::size_t kSuperblockBytes = std::size_t{256} << 20;

std::byte* page_locked(std::size_t bytes) noexcept {
  void* memory = nullptr;
  const CUresult result = driver().cuMemHostAlloc(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE);
  if (result == CUDA_SUCCESS) return static_cast<std::byte*>(memory);
  TENSORPAGER_LOG(warn, "host",
                  "{} MiB of host memory could not be page-locked ({}); pageable memory serves, copies are slower",
                  bytes >> 20, error_name(result));
  return nullptr;
}

std::byte* pageable(std::size_t bytes) noexcept {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

std::byte* align_up(std::byte* address, std::size_t alignment) noexcept {
  const auto value = reinterpret_cast<std::uintptr_t>(address);
  return reinterpret_cast<std::byte*>((value + alignment - 1) & ~(alignment - 1));
}

// True means "not done": the extent stays as it is, mapped and committed.
bool keep(extent_hooks_t*, void*, std::size_t, bool, unsigned) noexcept {
  return true;
}
bool keep_range(extent_hooks_t*, void*, std::size_t, std::size_t, std::size_t, unsigned) noexcept {
  return true;
}
void leave(extent_hooks_t*, void*, std::size_t, bool, unsigned) noexcept {}
// False means "done": splitting and merging are jemalloc's bookkeeping.
bool split(extent_hooks_t*, void*, std::size_t, std::size_t, std::size_t, bool, unsigned) noexcept {
  return false;
}
bool merge_extents(extent_hooks_t*, void* a, std::size_t bytes, void* b, std::size_t, bool, unsigned) noexcept {
  return static_cast<std::byte*>(a) + bytes != b;
}

}  // namespace

HostSuperblocks::HostSuperblocks(std::size_t capacity) noexcept : left_(capacity) {
  hooks_.owner = this;
  hooks_.table.alloc = allocate_extent;
  hooks_.table.dalloc = keep;
  hooks_.table.destroy = leave;
  hooks_.table.commit = keep_range;
  hooks_.table.decommit = keep_range;
  hooks_.table.purge_lazy = keep_range;
  hooks_.table.purge_forced = keep_range;
  hooks_.table.split = split;
  hooks_.table.merge = merge_extents;
}

void* HostSuperblocks::allocate_extent(extent_hooks_t* hooks, void* at, std::size_t bytes, std::size_t alignment,
                                       bool* zero, bool* commit, unsigned) noexcept {
  if (at != nullptr || *zero) return nullptr;  // no address is promised, and page-locked memory is not cleared
  std::byte* extent = reinterpret_cast<Hooks*>(hooks)->owner->cut(bytes, alignment);
  *commit = true;
  return extent;
}

std::byte* HostSuperblocks::cut(std::size_t bytes, std::size_t alignment) noexcept {
  const std::lock_guard lock(mutex_);
  for (int attempt = 0; attempt < 2; ++attempt) {
    for (Superblock& block : superblocks_) {
      std::byte* const begin = align_up(block.next, alignment);
      if (begin + bytes <= block.end) {
        block.next = begin + bytes;
        return begin;
      }
    }
    if (!add(bytes + alignment)) return nullptr;
  }
  return nullptr;
}

bool HostSuperblocks::add(std::size_t bytes) noexcept {
  const std::size_t size = std::min(std::max(bytes, kSuperblockBytes), left_);
  if (size < bytes) return false;
  std::byte* memory = page_locked(size);
  if (memory == nullptr) memory = pageable(size);
  if (memory == nullptr) return false;
  try {
    superblocks_.push_back({memory, memory + size});
  } catch (...) {
    return false;
  }
  left_ -= size;
  return true;
}

}  // namespace tensorpager
