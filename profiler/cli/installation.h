#pragma once

#include <filesystem>
#include <string>
#include <tl/expected.hpp>

namespace tensorpager::cli {

/// The files beside this program, in a build tree or an installation.
struct Installation {
  std::filesystem::path library;    ///< libtensorpager.so
  std::filesystem::path links;      ///< folder in which it is called libcuda.so and libcuda.so.1
  std::filesystem::path simulated;  ///< folder of the simulated device; may not exist
};

/// TENSORPAGER_LIB, else where this program lies. The error says where the library is not.
tl::expected<Installation, std::string> find_installation();

}  // namespace tensorpager::cli
