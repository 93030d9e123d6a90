#include "runtime/host_pool.h"

#include <jemalloc/jemalloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <limits>
#include <string>

#include "runtime/host_superblocks.h"

namespace tensorpager {
namespace {

constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kPage = 4096;

std::size_t memory_available() {
  std::ifstream file("/proc/meminfo");
  for (std::string key; file >> key;) {
    std::size_t kibibytes = 0;
    if (key == "MemAvailable:" && file >> kibibytes) return kibibytes << 10;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

std::size_t number_in(const char* path) {
  std::ifstream file(path);
  std::size_t number = 0;
  return file >> number ? number : kUnlimited;  // "max" is no number
}

// Of the process's own cgroup, which inside a container is the root that it sees.
std::size_t cgroup_left() {
  const std::size_t limit = number_in("/sys/fs/cgroup/memory.max");
  const std::size_t used = number_in("/sys/fs/cgroup/memory.current");
  if (limit == kUnlimited || used == kUnlimited) return kUnlimited;
  return limit > used ? limit - used : 0;
}

template <class Value>
bool set_arena(unsigned arena, const char* name, Value value) noexcept {
  char key[64];
  std::snprintf(key, sizeof key, "arena.%u.%s", arena, name);
  return mallctl(key, nullptr, nullptr, &value, sizeof value) == 0;
}

}  // namespace

std::size_t default_host_capacity() noexcept {
  try {
    return std::min(memory_available(), cgroup_left()) / 2;
  } catch (...) {
    return 0;
  }
}

std::unique_ptr<HostPool> HostPool::create(std::size_t capacity) {
  std::unique_ptr<HostPool> pool(new HostPool(capacity));
  pool->superblocks_ = new HostSuperblocks(capacity);
  extent_hooks_t* hooks = pool->superblocks_->hooks();
  std::size_t size = sizeof pool->arena_;
  // Created with jemalloc's own hooks and then given ours, so that its bookkeeping stays out of page-locked memory and
  // none is taken before the first eviction.
  if (mallctl("arenas.create", &pool->arena_, &size, nullptr, 0) != 0) return nullptr;
  if (!set_arena(pool->arena_, "extent_hooks", hooks)) return nullptr;
  // Page-locked memory is dear to take and cheap to keep: nothing decays.
  set_arena<ssize_t>(pool->arena_, "dirty_decay_ms", -1);
  set_arena<ssize_t>(pool->arena_, "muzzy_decay_ms", -1);
  return pool;
}

HostPool::~HostPool() = default;

std::size_t HostPool::footprint(std::size_t bytes) noexcept {
  return nallocx(bytes, 0) + kPage;
}

std::byte* HostPool::allocate(std::size_t bytes) noexcept {
  return static_cast<std::byte*>(mallocx(bytes, MALLOCX_ARENA(arena_) | MALLOCX_TCACHE_NONE));
}

void HostPool::release(std::byte* block, std::size_t) noexcept {
  dallocx(block, MALLOCX_TCACHE_NONE);
}

}  // namespace tensorpager
