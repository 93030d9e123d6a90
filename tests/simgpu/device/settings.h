#pragma once

// The settings of the simulated device, all from the environment. README.md lists them.

#include <cstdint>
#include <string>
#include <tl/expected.hpp>

#include "tests/simgpu/device/profile.h"
#include "tests/simgpu/kernel.h"

namespace simgpu {

struct Settings {
  Profile profile;
  std::uint64_t seed = 0;  ///< 0: submission order; else a seeded legal order
  std::string log_path;    ///< empty: no log
  std::string stats_path;  ///< empty: no statistics at exit
  int compute_major = 7;
  int compute_minor = 5;
  LoaderOptions loader;
};

/// The error is one line that names the variable, its value and what it may be.
tl::expected<Settings, std::string> read_settings();

}  // namespace simgpu
