#include "tests/simgpu/device/statistics.h"

#include <nlohmann/json.hpp>

namespace simgpu {
namespace {

nlohmann::ordered_json counted(const std::map<std::string_view, std::uint64_t>& counts) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const auto& [name, count] : counts) object[std::string(name)] = count;
  return object;
}

}  // namespace

void Statistics::violation(std::string line) {
  ++violations;
  if (violation_lines.size() < kViolationLines) violation_lines.push_back(std::move(line));
}

std::string Statistics::json(Nanoseconds now, std::uint64_t high_water) const {
  const nlohmann::ordered_json document = {
      {"schema", "simgpu.stats/1"},
      {"virtual_ns", now},
      {"high_water_bytes", high_water},
      {"context_bytes", context_bytes.most()},
      {"module_bytes", module_bytes.most()},
      {"violations", violations},
      {"violation_lines", violation_lines},
      {"calls", counted(calls)},
      {"ops", counted(ops)},
      {"bytes_h2d", bytes_in},
      {"bytes_d2h", bytes_out},
      {"maps", maps},
      {"unmaps", unmaps},
  };
  return document.dump(2) + "\n";
}

}  // namespace simgpu
