#include "profiler/cli/installation.h"

#include <fmt/format.h>

#include <cstdlib>

namespace tensorpager::cli {
namespace {

namespace fs = std::filesystem;

Installation around(const fs::path& library) {
  const fs::path folder = library.parent_path();
  return {library, folder / "links", folder / "sim"};
}

}  // namespace

tl::expected<Installation, std::string> find_installation() {
  std::error_code error;
  const char* const named = std::getenv("TENSORPAGER_LIB");
  const bool is_named = named != nullptr && *named != '\0';
  const fs::path own = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path library =
      fs::absolute(is_named ? fs::path(named) : own / TENSORPAGER_RELATIVE_LIBRARY_DIR / "libtensorpager.so", error)
          .lexically_normal();
  if (fs::is_regular_file(library, error)) return around(library);
  if (is_named)
    return tl::unexpected(fmt::format("TENSORPAGER_LIB={} is no file. Name libtensorpager.so, or unset it.", named));
  return tl::unexpected(fmt::format("{} is missing. Install again, or set TENSORPAGER_LIB=/path/to/libtensorpager.so.",
                                    library.string()));
}

}  // namespace tensorpager::cli
