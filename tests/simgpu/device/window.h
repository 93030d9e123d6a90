#pragma once

// The window of device addresses (kernel.h) and its alias. Everything that kernels and copies may touch is mapped here.

#include <cstdint>
#include <map>
#include <optional>

#include "tests/simgpu/device/address_ranges.h"
#include "tests/simgpu/device/physical_memory.h"
#include "tests/simgpu/kernel.h"

namespace simgpu {

enum class Access { read, read_write };

class Window {
 public:
  /// Throws std::system_error when the host cannot reserve the two ranges, for instance under a limit on address space.
  Window();
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  static constexpr bool contains(std::uint64_t address) noexcept { return address - kWindowBase < kWindowBytes; }

  /// Addresses without memory. `hint` 0: anywhere; else there or anywhere.
  std::optional<std::uint64_t> take(std::uint64_t bytes, std::uint64_t alignment, std::uint64_t hint = 0);
  void give_back(std::uint64_t address, std::uint64_t bytes) { free_.give_back(address, bytes); }

  /// Makes the memory reachable at `address`; false when the host is out of mappings (vm.max_map_count).
  bool map(std::uint64_t address, const PhysicalMemory& memory, Access access);
  /// As map, and at the address itself too, for page-locked host memory.
  bool map_for_host(std::uint64_t address, const PhysicalMemory& memory);
  void unmap(std::uint64_t address, std::uint64_t bytes);
  void unmap_for_host(std::uint64_t address, std::uint64_t bytes);

  /// The first byte of [address, address + bytes) that may not be used so, or nothing.
  std::optional<std::uint64_t> first_fault(std::uint64_t address, std::uint64_t bytes, Access access) const;

 private:
  struct Mapped {
    std::uint64_t end;
    Access access;
  };
  AddressRanges free_;
  std::map<std::uint64_t, Mapped> mapped_;  // by begin
};

}  // namespace simgpu
