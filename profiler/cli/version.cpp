#include <cuda.h>
#include <fmt/format.h>

#include "profiler/cli/arguments.h"
#include "profiler/cli/installation.h"
#include "profiler/cli/verbs.h"

namespace tensorpager::cli {

int version(const Words& words) {
  const auto parsed = parse_nothing(words, "version");
  if (!parsed) return show(parsed.error());
  const auto installed = find_installation();
  fmt::print("tensorpager {}\n", TENSORPAGER_VERSION);
  fmt::print("library     {}\n", installed ? installed->library.string() : "not found: " + installed.error());
  fmt::print("CUDA        {}.{} (headers)\n", CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
  fmt::print("\ntensorpager config\n");
  return 0;
}

}  // namespace tensorpager::cli
