#include "tests/simgpu/driver/driver.h"

#include <fmt/format.h>
#include <pthread.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <exception>

namespace simgpu {
namespace {

std::atomic<bool> g_forked = false;
// Never destroyed by static destructors: programs call the driver from theirs. write_at_exit does what there is to do.
Driver* g_driver = nullptr;
std::uint64_t g_generation = 1;
std::uint32_t g_next_thread = 0;

struct KnownThread {
  std::uint64_t generation = 0;
  ThreadState state{};
};
// Outlives its thread: exit handlers still call the driver when the thread's own objects are gone.
thread_local KnownThread* t_thread = nullptr;

KnownThread& add_thread() {
  static auto& known = *new std::deque<KnownThread>;
  return known.emplace_back();
}

void say(const std::string& line) {
  std::fprintf(stderr, "%s\n", line.c_str());
}

// A child of a process that had a device has none; one of a process that had none starts anew, with log and statistics
// of its own.
void enter_child() {
  if (g_driver && g_driver->device) {
    g_forked = true;
  } else {
    reset_driver();
  }
}

// After all exit handlers of the program and of the libraries that use this one.
[[gnu::destructor]] void write_at_exit() {
  if (forked() || !g_driver || !g_driver->settings || !g_driver->device) return;
  if (!g_driver->settings->stats_path.empty()) g_driver->write_statistics(g_driver->settings->stats_path);
}

}  // namespace

std::mutex& driver_lock() noexcept {
  static std::mutex& lock = *new std::mutex;
  return lock;
}

bool forked() noexcept {
  return g_forked.load(std::memory_order_relaxed);
}

Driver& the_driver() {
  static const int at_fork = pthread_atfork(nullptr, nullptr, enter_child);
  static_cast<void>(at_fork);
  if (!g_driver) g_driver = new Driver;
  return *g_driver;
}

void reset_driver() {
  delete g_driver;
  g_driver = nullptr;
  ++g_generation;
  g_next_thread = 0;
}

ThreadState& this_thread() {
  if (t_thread == nullptr) t_thread = &add_thread();
  if (t_thread->generation != g_generation) *t_thread = {g_generation, {g_next_thread++, {}, {}, false}};
  return t_thread->state;
}

Driver::Driver() {
  auto read = read_settings();
  if (!read) {
    say(read.error());
    return;
  }
  settings = std::move(*read);
  if (!settings->log_path.empty() && !log.open(settings->log_path)) {
    say(fmt::format("simgpu: SIMGPU_LOG={} cannot be written: {}", settings->log_path, std::strerror(errno)));
    settings.reset();
  }
}

CUresult Driver::initialize() {
  if (device) return CUDA_SUCCESS;
  if (!settings) return CUDA_ERROR_INVALID_VALUE;
  try {
    device = std::make_unique<Device>(*settings, clock, statistics, driver_lock());
  } catch (const std::exception& error) {
    say(fmt::format("simgpu: {}", error.what()));
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  pools.add<CUmemoryPool>(device->default_pool);
  return CUDA_SUCCESS;
}

CUresult Driver::activate_primary() {
  if (!primary) {
    primary = std::make_shared<Context>();
    primary->primary = true;
    primary->active = false;
    contexts.add<CUcontext>(primary);
  }
  if (primary->active) return CUDA_SUCCESS;
  primary->flags = primary_flags;
  return device->activate(*primary) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

void Driver::deactivate(Context& context) {
  const auto here = [&](const auto& object) { return object.context == &context; };
  device->scheduler.wait_for_context(context);
  modules.remove_if([&](const ModuleObject& module) {
    if (module.context != &context) return false;
    for (const auto& [name, function] : module.functions) functions.remove(function);
    return true;
  });
  streams.remove_if(here);
  events.remove_if(here);
  device->deactivate(context);
}

std::string Driver::statistics_json() const {
  return statistics.json(clock.now(), device ? device->capacity.high_water() : 0);
}

bool Driver::write_statistics(const std::string& path) const {
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (!file) {
    say(fmt::format("simgpu: the statistics cannot be written to {}: {}", path, std::strerror(errno)));
    return false;
  }
  const std::string text = statistics_json();
  std::fwrite(text.data(), 1, text.size(), file);
  return std::fclose(file) == 0;
}

}  // namespace simgpu
