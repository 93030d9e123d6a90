#include "interpose/real_driver.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include "interpose/loader_cache.h"
#include "tensorpager/options.h"

namespace tensorpager {
namespace {

constexpr std::string_view kName = "libcuda.so.1";
constexpr std::array<std::string_view, 7> kUsualFolders = {
    "/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu",  "/usr/lib64", "/lib64", "/usr/lib/wsl/lib",
    "/usr/local/nvidia/lib64",   "/usr/local/cuda/compat",
};

struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

std::optional<FileIdentity> identity(const char* path) noexcept {
  struct stat status;
  if (::stat(path, &status) != 0) return std::nullopt;
  return FileIdentity{status.st_dev, status.st_ino};
}

std::optional<FileIdentity> own_identity() noexcept {
  Dl_info own;
  if (::dladdr(exported_function(Row{}), &own) == 0 || own.dli_fname == nullptr) return std::nullopt;
  return identity(own.dli_fname);
}

std::string in_folder(std::string_view folder) {
  return std::string(folder.empty() ? "." : folder) + '/' + std::string(kName);
}

void add_library_path(std::vector<std::string>& out, std::string_view folders) {
  while (!folders.empty()) {
    const auto end = folders.find_first_of(":;");
    out.push_back(in_folder(folders.substr(0, end)));
    folders = end == std::string_view::npos ? std::string_view{} : folders.substr(end + 1);
  }
}

}  // namespace

std::vector<std::string> driver_candidates(const DriverSearch& search) {
  if (!search.named.empty()) return {search.named};
  std::vector<std::string> out;
  add_library_path(out, search.library_path);
  const auto cache = option_reading::read_file(search.cache_file);
  for (std::string& path : cached_paths(cache.value_or(""), kName)) out.push_back(std::move(path));
  for (std::string_view folder : kUsualFolders) out.push_back(in_folder(folder));
  return out;
}

OpenedDriver open_driver(const std::vector<std::string>& candidates) {
  const auto own = own_identity();
  OpenedDriver driver;
  for (const std::string& path : candidates) {
    const auto file = identity(path.c_str());
    if (!file) {
      if (driver.why_not.empty()) driver.why_not = path + ": no such file";
      continue;
    }
    if (own && *file == *own) continue;
    // A name without a slash would be searched for by the loader, which then gives out this library.
    const std::string with_slash = path.find('/') == std::string::npos ? "./" + path : path;
    driver.handle = ::dlopen(with_slash.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (driver.handle != nullptr) {
      driver.path = path;
      return driver;
    }
    const char* const error = ::dlerror();
    driver.why_not = error == nullptr ? path : error;
  }
  return driver;
}

RealFunctions look_up_functions(void* handle) noexcept {
  RealFunctions found{};
  for (std::size_t row = 0; row < kRows.size(); ++row) found[row] = ::dlsym(handle, kRows[row].exported.data());
  return found;
}

}  // namespace tensorpager
