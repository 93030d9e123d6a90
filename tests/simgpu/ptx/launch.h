#pragma once

// Runs a launch on the calling thread and, where its blocks may run in any order, on worker threads beside it.

#include <chrono>
#include <string>

#include "tests/simgpu/kernel.h"
#include "tests/simgpu/ptx/device/abi.h"

namespace simgpu::ptx {

struct KernelCode {
  const simgpu_device::KernelEntry* entry = nullptr;
  const KernelInfo* info = nullptr;
  const std::uint64_t* globals = nullptr;
  std::uint32_t dynamic_shared_offset = 0;
  bool ordered = false;
  unsigned workers = 1;
  std::chrono::milliseconds time_limit{60000};
};

/// One launch at a time; a second caller waits.
tl::expected<LaunchCost, LaunchFault> run_launch(const KernelCode& code, const LaunchShape& shape,
                                                 std::span<const std::byte> parameters);

}  // namespace simgpu::ptx
