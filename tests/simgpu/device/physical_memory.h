#pragma once

// The bytes behind device addresses: one memfd for the device, one for page-locked host memory, both sparse. Not
// thread-safe: all of the device runs under the driver's lock.

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/simgpu/device/address_ranges.h"

namespace simgpu {

/// A memfd whose bytes are handed out in pieces. What is given back reads as zero again.
class PhysicalStore {
 public:
  /// Throws std::system_error when the host has no memfd.
  PhysicalStore(const char* name, std::uint64_t bytes);
  ~PhysicalStore();
  PhysicalStore(const PhysicalStore&) = delete;
  PhysicalStore& operator=(const PhysicalStore&) = delete;

  int descriptor() const noexcept { return descriptor_; }
  std::vector<Range> take(std::uint64_t bytes) { return free_.take_pieces(bytes); }
  void give_back(const std::vector<Range>& pieces);

 private:
  int descriptor_;
  AddressRanges free_;
};

/// Counts the bytes that exist. The ceiling is the profile's capacity.
class Capacity {
 public:
  explicit Capacity(std::uint64_t total) : total_(total) {}
  /// False, and nothing charged, when there is no room.
  bool charge(std::uint64_t bytes) noexcept;
  void discharge(std::uint64_t bytes) noexcept { used_ -= bytes; }
  std::uint64_t total() const noexcept { return total_; }
  std::uint64_t used() const noexcept { return used_; }
  std::uint64_t high_water() const noexcept { return high_water_; }

 private:
  std::uint64_t total_, used_ = 0, high_water_ = 0;
};

/// One piece of physical memory. It lives until its handle is released and its last mapping is gone, hence shared.
class PhysicalMemory {
 public:
  /// nullptr when there is no room.
  static std::shared_ptr<PhysicalMemory> create(Capacity& capacity, PhysicalStore& store, std::uint64_t bytes);
  ~PhysicalMemory();
  PhysicalMemory(const PhysicalMemory&) = delete;
  PhysicalMemory& operator=(const PhysicalMemory&) = delete;

  const std::vector<Range>& pieces() const noexcept { return pieces_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  int descriptor() const noexcept { return store_.descriptor(); }

 private:
  PhysicalMemory(Capacity& capacity, PhysicalStore& store, std::uint64_t bytes);
  Capacity& capacity_;
  PhysicalStore& store_;
  std::uint64_t bytes_;
  std::vector<Range> pieces_;
};

}  // namespace simgpu
