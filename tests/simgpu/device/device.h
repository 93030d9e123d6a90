#pragma once

// The simulated device: memory, streams and time of one GPU. It exists from cuInit on. All of it runs under the
// driver's lock.

#include <memory>
#include <mutex>
#include <vector>

#include "tests/simgpu/device/allocations.h"
#include "tests/simgpu/device/copy.h"
#include "tests/simgpu/device/memory_pool.h"
#include "tests/simgpu/device/scheduler.h"
#include "tests/simgpu/device/settings.h"
#include "tests/simgpu/device/statistics.h"
#include "tests/simgpu/device/virtual_memory.h"
#include "tests/simgpu/device/window.h"

namespace simgpu {

class Device {
 public:
  /// Throws std::system_error when the host lacks what the device is made of.
  Device(const Settings& settings, HostClock& clock, Statistics& statistics, std::mutex& lock);

  const Settings& settings;
  const Profile& profile;
  HostClock& clock;
  Statistics& statistics;

  Capacity capacity;
  PhysicalStore store;
  Window window;
  Segments segments;
  Allocations allocations;
  VirtualMemory virtual_memory;
  Scheduler scheduler;
  std::shared_ptr<MemoryPool> default_pool, current_pool;

  /// Context and stream ordinals, in order of creation.
  std::uint32_t next_context = 0, next_stream = 0;

  /// False when the device has no room for one more context.
  bool activate(Context& context);
  StreamRef add_stream(Context& context);
  StreamRef per_thread_stream(Context& context, std::uint32_t thread);
  /// All work of the context, then what its pools hold beyond their thresholds is given back.
  void synchronize(Context& context);
  /// Waits for all work, then drops the context's streams, memory and cost.
  void deactivate(Context& context);

  Place place_of(std::uint64_t address) const;
  OpRef submit_copy(Stream& stream, Copy copy);
  OpRef submit_fill(Stream& stream, const Fill& fill);
  void free_allocation(std::uint64_t address);
  void trim_pools();
  std::vector<std::weak_ptr<MemoryPool>> pools;

 private:
  void count(const Op& op) { ++statistics.ops[name_of(op.kind)]; }
};

}  // namespace simgpu
