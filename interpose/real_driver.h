#pragma once

// Finding and opening the real libcuda.so.1: by path, since by name the loader would give out this library.

#include <string>
#include <string_view>
#include <vector>

#include "interpose/entry_table.h"

namespace tensorpager {

struct DriverSearch {
  std::string named;         ///< setting `driver`; when set, the only candidate
  std::string library_path;  ///< LD_LIBRARY_PATH
  std::string cache_file = "/etc/ld.so.cache";
};

/// Where the driver may be, in the dynamic loader's own order: LD_LIBRARY_PATH, the loader's cache, the usual folders.
/// Paths need not exist.
std::vector<std::string> driver_candidates(const DriverSearch& search);

struct OpenedDriver {
  void* handle = nullptr;
  std::string path;
  std::string why_not;  ///< the last candidate's error, when none could be opened
};

/// Opens the first candidate that can be opened and is not this library. Takes the loader's lock.
OpenedDriver open_driver(const std::vector<std::string>& candidates);

/// Looks up every row's function. Takes the loader's lock.
RealFunctions look_up_functions(void* handle) noexcept;

}  // namespace tensorpager
