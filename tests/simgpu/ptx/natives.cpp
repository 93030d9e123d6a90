#include <map>
#include <mutex>
#include <string>

#include "tests/simgpu/kernel.h"

namespace simgpu {
namespace {

struct Natives {
  std::mutex mutex;
  std::map<std::pair<std::uint64_t, std::string>, NativeRun> runs;
};

// Never destroyed: registrations run before main, launches may run after it.
Natives& natives() {
  static Natives& instance = *new Natives;
  return instance;
}

}  // namespace

void register_native(std::uint64_t module_hash, std::string_view name, NativeRun run) {
  const std::lock_guard lock(natives().mutex);
  natives().runs[{module_hash, std::string(name)}] = run;
}

NativeRun find_native(std::uint64_t module_hash, std::string_view name) noexcept {
  const std::lock_guard lock(natives().mutex);
  for (const std::uint64_t hash : {module_hash, std::uint64_t{0}}) {
    const auto found = natives().runs.find({hash, std::string(name)});
    if (found != natives().runs.end()) return found->second;
  }
  return nullptr;
}

}  // namespace simgpu
