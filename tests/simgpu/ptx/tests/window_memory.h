#pragma once

// Device memory for tests of the executor alone: pieces of the window, mapped as the device would map them.

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <span>

#include "tests/simgpu/kernel.h"

namespace simgpu::ptx {

class WindowMemory final : public GlobalMemory {
 public:
  WindowMemory() = default;
  WindowMemory(const WindowMemory&) = delete;
  WindowMemory& operator=(const WindowMemory&) = delete;
  ~WindowMemory() override {
    while (!sizes_.empty()) release(sizes_.begin()->first);
  }

  std::uint64_t allocate(std::uint64_t bytes, std::uint64_t /*alignment*/) override {
    const std::uint64_t size = (bytes + kPage - 1) / kPage * kPage;
    // A page without access behind each piece.
    const std::uint64_t address = next_;
    next_ += size + kPage;
    map(address, size, PROT_NONE);
    map(address + kAliasOffset, size, PROT_READ | PROT_WRITE);
    sizes_[address] = size;
    return address;
  }

  void release(std::uint64_t address) noexcept override {
    const std::uint64_t size = sizes_[address];
    sizes_.erase(address);
    munmap(reinterpret_cast<void*>(address), size);
    munmap(reinterpret_cast<void*>(address + kAliasOffset), size);
  }

  template <class T>
  std::uint64_t upload(std::span<const T> values) {
    const std::uint64_t address = allocate(values.size_bytes(), 256);
    std::copy(values.begin(), values.end(), view<T>(address, values.size()).begin());
    return address;
  }

  template <class T>
  static std::span<T> view(std::uint64_t address, std::size_t count) {
    return {reinterpret_cast<T*>(host_alias(address)), count};
  }

  std::size_t pieces() const { return sizes_.size(); }

 private:
  static constexpr std::uint64_t kPage = 4096;

  static void map(std::uint64_t address, std::uint64_t size, int protection) {
    void* const wanted = reinterpret_cast<void*>(address);
    void* const got =
        mmap(wanted, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != wanted) std::abort();
  }

  // Of all instances: two may live at once.
  inline static std::uint64_t next_ = kWindowBase;
  std::map<std::uint64_t, std::uint64_t> sizes_;
};

}  // namespace simgpu::ptx
