#pragma once

// What a run did, counted: written as JSON (schema simgpu.stats/1, see README.md).

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/simgpu/device/profile.h"

namespace simgpu {

struct Statistics {
  std::map<std::string_view, std::uint64_t> calls;  ///< by exported name; names are literals
  std::map<std::string_view, std::uint64_t> ops;    ///< by kind
  std::uint64_t bytes_in = 0, bytes_out = 0;        ///< host to device, device to host
  std::uint64_t maps = 0, unmaps = 0;
  std::uint64_t context_bytes = 0, module_bytes = 0;
  std::uint64_t violations = 0;
  std::vector<std::string> violation_lines;  ///< the first kViolationLines of them

  static constexpr std::size_t kViolationLines = 100;
  void violation(std::string line);
  std::string json(Nanoseconds now, std::uint64_t high_water) const;
};

}  // namespace simgpu
