#include "runtime/statistics.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/log.h"

namespace tensorpager {

void Statistics::tensor_added(std::size_t bytes) noexcept {
  tensor_bytes.add(bytes);
  tensor_peak.raise_to(tensor_bytes.get());
}

// Never destroyed: threads of the job may still count while the process ends.
Statistics& statistics() noexcept {
  static Statistics& instance = *new Statistics;
  return instance;
}

void write_statistics(const std::string& path, const char* policy, const char* state) noexcept {
  if (path.empty()) return;
  try {
    const Statistics& s = statistics();
    const nlohmann::ordered_json json = {
        {"schema", "tensorpager.stats/1"},
        {"policy", policy},
        {"state", state},
        {"budget_bytes", s.budget.get()},
        {"fixed_cost_bytes", s.fixed_cost_peak.get()},
        {"granularity_bytes", s.granularity.get()},
        {"tensor_peak_bytes", s.tensor_peak.get()},
        {"device_peak_bytes", s.device_peak.get()},
        {"host_peak_bytes", s.host_peak.get()},
        {"evictions", s.evictions.get()},
        {"loads", s.loads.get()},
        {"bytes_evicted", s.bytes_evicted.get()},
        {"bytes_loaded", s.bytes_loaded.get()},
        {"maps", s.maps.get()},
        {"unmaps", s.unmaps.get()},
        {"chunks_created", s.chunks_created.get()},
        {"passed_through_allocs", s.passed_through_allocs.get()},
        {"refused_allocs", s.refused_allocs.get()},
        {"refused_ops", s.refused_ops.get()},
        {"ops",
         {{"launch", s.launches.get()},
          {"copy", s.copies.get()},
          {"memset", s.memsets.get()},
          {"alloc", s.allocs.get()},
          {"free", s.frees.get()}}},
    };
    std::ofstream file(path);
    file << json.dump(2) << '\n';
    if (!file.flush()) TENSORPAGER_LOG(warn, "stats", "{} cannot be written. Check: stats", path);
  } catch (...) {
    TENSORPAGER_LOG(warn, "stats", "the counters could not be written");
  }
}

}  // namespace tensorpager
