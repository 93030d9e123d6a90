#pragma once

// The state of the driver: settings, the device once there is one, and all handles. One for the process, never freed
// before exit; everything is under one lock, which is let go only while a host function of the program runs.

#include <cuda.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tests/simgpu/device/call_log.h"
#include "tests/simgpu/device/device.h"
#include "tests/simgpu/driver/handles.h"

namespace simgpu {

struct Driver {
  Driver();

  std::optional<Settings> settings;  ///< nothing: a variable is bad; said once, cuInit refuses
  HostClock clock;
  Statistics statistics;
  CallLog log;
  std::uint64_t call_sequence = 0;
  std::unique_ptr<Device> device;  ///< from cuInit on

  std::shared_ptr<Context> primary;
  unsigned primary_references = 0;
  unsigned primary_flags = 0;
  Handles<Context> contexts;
  Handles<Stream> streams;
  Handles<Event> events;
  Handles<MemoryPool> pools;
  Handles<ModuleObject> modules;
  Handles<LibraryObject> libraries;
  Handles<FunctionObject> functions;
  Handles<KernelObject> kernels;

  /// cuInit. Makes the device.
  CUresult initialize();
  CUresult activate_primary();
  /// Drops everything that belongs to the context.
  void deactivate(Context& context);
  std::string statistics_json() const;
  /// False, with one line on standard error, when the file cannot be written.
  bool write_statistics(const std::string& path) const;
};

std::mutex& driver_lock() noexcept;
/// The driver; made on first use. Call under the lock.
Driver& the_driver();
/// Forgets everything and starts over with the settings of the environment (tests). Call under the lock, with no work
/// queued by other threads.
void reset_driver();

/// What the driver knows of the calling thread.
struct ThreadState {
  std::uint32_t ordinal;
  std::vector<Context*> contexts;  ///< the stack; the last one is current
  CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  bool in_host_function = false;
};
ThreadState& this_thread();
/// True in a child that was forked after cuInit: nothing works there, as on a real device.
bool forked() noexcept;

}  // namespace simgpu
