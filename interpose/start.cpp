// The first call of any driver function: opens the real driver, starts the runtime, and puts the entries in place.
//
// No lock of ours is held while the loader's lock may be taken: a thread that calls a driver function from a
// constructor holds the loader's lock already, and would wait for ours while its owner waits for the loader's. So each
// early caller opens the driver and looks up its functions for itself, which yields the same; only what follows is done
// once.

#include <unistd.h>

#include <dlfcn.h>
#include <cstdlib>
#include <mutex>
#include <string>

#include "interpose/allocator_settings.h"
#include "interpose/entry_table.h"
#include "interpose/hello.h"
#include "interpose/process_settings.h"
#include "interpose/real_driver.h"
#include "interpose/substitute.h"
#include "runtime/hooks.h"
#include "runtime/log.h"

namespace tensorpager {
namespace {

std::mutex starting;
bool started = false;           // under `starting`
void* driver_handle = nullptr;  // written once, before the runtime starts

void* find_in_driver(const char* exported_name) {
  const auto row = find_row(exported_name);
  return row ? real_functions[index_of(*row)] : ::dlsym(driver_handle, exported_name);
}

void report_no_driver(const OpenedDriver& driver, const Settings& settings) {
  if (settings.driver.empty()) {
    return format_log(LogLevel::error, "driver",
                      "no libcuda.so.1 was found, so this process has no CUDA device. "
                      "Name one: TENSORPAGER_DRIVER=/path/to/libcuda.so.1");
  }
  format_log(LogLevel::error, "driver", "the driver that {} names cannot be opened: {}. Correct it, or leave it out.",
             settings.origin(OptionId::driver).where, driver.why_not);
}

void start(const OpenedDriver& driver, const RealFunctions& real, const ReadSettings& read) {
  const bool disabled = read.settings.disable;
  if (driver.handle == nullptr) {
    if (!disabled) report_no_driver(driver, read.settings);
    return install_no_driver();
  }
  driver_handle = driver.handle;
  if (disabled) return install_entries(real, false);
  say_hello(Hello::driver_opened);
  real_functions = real;
  index_real_functions(real);
  on_driver_open(&find_in_driver);
  // Settings that cannot hold, or a driver too old: the runtime has said so, and nothing is managed in this process.
  const bool managed = active();
  if (managed) report_allocator_settings(read.settings);
  install_entries(real, managed);
}

void open_and_start() {
  const ReadSettings read = read_process_settings();
  const char* const library_path = std::getenv("LD_LIBRARY_PATH");
  const OpenedDriver driver =
      open_driver(driver_candidates({read.settings.driver, library_path == nullptr ? "" : library_path}));
  const RealFunctions real = driver.handle == nullptr ? RealFunctions{} : look_up_functions(driver.handle);
  const std::lock_guard lock(starting);
  if (!std::exchange(started, true)) start(driver, real, read);
}

}  // namespace
}  // namespace tensorpager

extern "C" __attribute__((visibility("hidden"))) void* tensorpager_first_call(unsigned row) noexcept;

void* tensorpager_first_call(unsigned row) noexcept {
  using namespace tensorpager;
  const int kept = errno;
  try {
    open_and_start();
  } catch (...) {
    format_log(LogLevel::error, "driver", "no memory to open the driver. This process has no CUDA device.");
    install_no_driver();
  }
  errno = kept;
  return entry(static_cast<Row>(row));
}
