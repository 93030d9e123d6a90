#pragma once

// Runs the blocks of one launch on one thread. Owns what a block needs: shared and local memory and the threads'
// states.

#include <cstdint>
#include <vector>

#include "tests/simgpu/kernel.h"
#include "tests/simgpu/ptx/device/abi.h"

namespace simgpu::ptx {

/// Memory in the middle of a large reservation without access: generated code that strays faults instead of corrupting
/// the host. Offsets are 32 bits, with 32 bits of displacement, in either direction.
class GuardedMemory {
 public:
  GuardedMemory() = default;
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory();

  /// At least that many bytes, rounded up to pages. False: the host has no room.
  bool resize(std::uint64_t bytes);
  std::uint8_t* data() const { return data_; }
  /// Whether the host address lies in the reservation.
  bool reserves(std::uint64_t address) const;

 private:
  std::uint8_t* data_ = nullptr;
  std::uint64_t size_ = 0;
};

class BlockScheduler {
 public:
  struct Launch {
    const simgpu_device::KernelEntry* entry = nullptr;
    const LaunchShape* shape = nullptr;
    const std::byte* parameters = nullptr;
    const std::uint64_t* globals = nullptr;
    std::uint32_t shared_bytes = 0;  ///< static and dynamic
    std::uint32_t local_bytes = 0;   ///< per thread
  };

  /// Clears the costs. False: the host has no room for shared or local memory.
  bool begin(const Launch& launch);
  /// One block, numbered x first. Called inside guard(): may be left by a jump.
  void run(std::uint64_t block);

  std::uint64_t work() const { return block_.work; }
  std::uint64_t bytes() const { return block_.bytes; }
  std::uint64_t current_block() const { return current_block_; }
  bool in_shared_window(std::uint64_t host_address) const { return shared_.reserves(host_address); }
  bool in_local_window(std::uint64_t host_address) const { return local_.reserves(host_address); }
  std::int64_t shared_offset(std::uint64_t host_address) const;

 private:
  simgpu_device::Thread& thread(std::uint32_t index);
  void reset_threads();
  void run_threads();
  void run_warp(std::uint32_t first, std::uint32_t end);
  bool release_lanes(std::uint32_t first, std::uint32_t end);
  bool lanes_complete(std::uint32_t first, std::uint32_t end, const simgpu_device::Thread& leader);
  bool release_barriers();
  bool release_named_barriers();
  bool waits_at(std::uint32_t index, std::uint32_t id);
  void release_barrier(std::uint32_t id);

  Launch launch_;
  std::uint32_t threads_ = 0;
  std::uint64_t stride_ = 0;
  std::uint64_t current_block_ = 0;
  simgpu_device::Block block_;
  simgpu_device::Exchange exchange_;
  GuardedMemory shared_;
  GuardedMemory local_;
  std::vector<simgpu_device::Wait>
      waits_;  ///< of each thread; apart from the states, since they are looked through often
  std::vector<std::uint64_t> states_;
};

}  // namespace simgpu::ptx
