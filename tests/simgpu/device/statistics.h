#pragma once

// What a run did, counted: written as JSON (schema simgpu.stats/1, see README.md).

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/simgpu/device/profile.h"

namespace simgpu {

/// An amount that comes and goes, and the most that it was.
class Gauge {
 public:
  void add(std::uint64_t amount) noexcept { most_ = std::max(most_, now_ += amount); }
  void subtract(std::uint64_t amount) noexcept { now_ -= amount; }
  std::uint64_t most() const noexcept { return most_; }

 private:
  std::uint64_t now_ = 0, most_ = 0;
};

struct Statistics {
  std::map<std::string_view, std::uint64_t> calls;  ///< by exported name; names are literals
  std::map<std::string_view, std::uint64_t> ops;    ///< by kind
  std::uint64_t bytes_in = 0, bytes_out = 0;        ///< host to device, device to host
  std::uint64_t maps = 0, unmaps = 0;
  Gauge context_bytes, module_bytes;
  std::uint64_t violations = 0;
  std::vector<std::string> violation_lines;  ///< the first kViolationLines of them

  static constexpr std::size_t kViolationLines = 100;
  void violation(std::string line);
  std::string json(Nanoseconds now, std::uint64_t high_water) const;
};

}  // namespace simgpu
