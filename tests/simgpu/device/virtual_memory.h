#pragma once

// cuMemAddressReserve, cuMemCreate, cuMemMap, cuMemSetAccess, cuMemUnmap as the header describes them. Errors are the
// driver's. Nothing here waits for the device: work that later touches what was unmapped faults when it runs.

#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tl/expected.hpp>

#include "tests/simgpu/device/physical_memory.h"
#include "tests/simgpu/device/window.h"

namespace simgpu {

using Done = tl::expected<void, CUresult>;

enum class Grant { none, read, read_write };

class VirtualMemory {
 public:
  using Handle = std::uint64_t;
  struct Mapping {
    std::uint64_t address;
    std::shared_ptr<PhysicalMemory> memory;
    Handle handle;
    Grant grant = Grant::none;
  };

  VirtualMemory(Window& window, Capacity& capacity, PhysicalStore& store, std::uint64_t granularity)
      : window_(window), capacity_(capacity), store_(store), granularity_(granularity) {}

  tl::expected<std::uint64_t, CUresult> reserve(std::uint64_t bytes, std::uint64_t alignment, std::uint64_t hint);
  Done free(std::uint64_t address, std::uint64_t bytes);
  tl::expected<Handle, CUresult> create(std::uint64_t bytes);
  Done release(Handle handle);
  Done map(std::uint64_t address, std::uint64_t bytes, std::uint64_t offset, Handle handle);
  Done set_access(std::uint64_t address, std::uint64_t bytes, Grant grant);
  Done unmap(std::uint64_t address, std::uint64_t bytes);
  /// One more reference to the handle mapped at an address.
  tl::expected<Handle, CUresult> retain(std::uint64_t address);

  const Mapping* find(std::uint64_t address) const;
  bool reserved(std::uint64_t address) const;
  bool knows(Handle handle) const { return handles_.contains(handle); }
  std::size_t reservations() const noexcept { return reservations_.size(); }
  std::size_t handles() const noexcept { return handles_.size(); }
  std::size_t mappings() const noexcept { return mappings_.size(); }

 private:
  struct Referenced {
    std::shared_ptr<PhysicalMemory> memory;
    std::uint64_t references;
  };
  using Mappings = std::map<std::uint64_t, Mapping>;
  /// The mappings that fill [address, address + bytes) exactly, or nothing when there is a hole or a part of one.
  std::optional<std::pair<Mappings::iterator, Mappings::iterator>> whole(std::uint64_t address, std::uint64_t bytes);

  Window& window_;
  Capacity& capacity_;
  PhysicalStore& store_;
  std::uint64_t granularity_;
  Handle next_handle_ = 1;
  std::map<std::uint64_t, std::uint64_t> reservations_;  // begin -> bytes
  std::map<Handle, Referenced> handles_;
  Mappings mappings_;
};

}  // namespace simgpu
