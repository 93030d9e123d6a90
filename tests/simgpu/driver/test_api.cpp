#include <algorithm>
#include <cstring>

#include "tests/simgpu/driver/driver.h"
#include "tests/simgpu/simgpu.h"

#include <fmt/format.h>

namespace simgpu {
namespace {

std::size_t copy_line(const std::string& line, char* text, std::size_t bytes) {
  if (text && bytes > 0) {
    const std::size_t copied = std::min(line.size(), bytes - 1);
    std::memcpy(text, line.data(), copied);
    text[copied] = '\0';
  }
  return line.size();
}

template <class Read>
auto locked(Read read) {
  const std::lock_guard guard(driver_lock());
  return read(the_driver());
}

}  // namespace

extern "C" {

uint64_t simgpu_virtual_ns() {
  return locked([](const Driver& driver) { return driver.clock.now(); });
}

uint64_t simgpu_used_bytes() {
  return locked([](const Driver& driver) { return driver.device ? driver.device->capacity.used() : 0; });
}

uint64_t simgpu_high_water_bytes() {
  return locked([](const Driver& driver) { return driver.device ? driver.device->capacity.high_water() : 0; });
}

uint64_t simgpu_violations() {
  return locked([](const Driver& driver) { return driver.statistics.violations; });
}

size_t simgpu_violation_line(uint64_t index, char* text, size_t bytes) {
  return locked([&](const Driver& driver) {
    const auto& lines = driver.statistics.violation_lines;
    return copy_line(index < lines.size() ? lines[index] : "", text, bytes);
  });
}

uint64_t simgpu_leaks(char* text, size_t bytes) {
  return locked([&](const Driver& driver) -> uint64_t {
    if (!driver.device) return copy_line("", text, bytes);
    const Device& device = *driver.device;
    using Kind = Allocation::Kind;
    const std::pair<const char*, std::size_t> counts[] = {
        {"device allocations", device.allocations.count(Kind::device)},
        {"pool allocations", device.allocations.count(Kind::pool)},
        {"host allocations", device.allocations.count(Kind::host)},
        {"registered host ranges", device.allocations.count(Kind::registered_host)},
        {"reservations", device.virtual_memory.reservations()},
        {"mappings", device.virtual_memory.mappings()},
        {"memory handles", device.virtual_memory.handles()},
        {"streams", driver.streams.size()},
        {"events", driver.events.size()},
        {"modules", driver.modules.size()},
        {"libraries", driver.libraries.size()},
    };
    std::string line;
    uint64_t total = 0;
    for (const auto& [name, count] : counts) {
      total += count;
      if (count != 0) line += fmt::format("{}{} {}", line.empty() ? "" : ", ", count, name);
    }
    copy_line(line, text, bytes);
    return total;
  });
}

int simgpu_write_stats(const char* path) {
  return locked([&](const Driver& driver) { return path && driver.write_statistics(path) ? 0 : 1; });
}

void simgpu_reset() {
  const std::lock_guard guard(driver_lock());
  reset_driver();
}

}  // extern "C"
}  // namespace simgpu
