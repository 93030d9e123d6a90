#include "tests/simgpu/device/settings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace simgpu {
namespace {

using Checked = tl::expected<void, std::string>;

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string bad(const char* name, std::string_view value, std::string_view allowed) {
  return fmt::format("simgpu: {}={} is not valid; it must be {}", name, value, allowed);
}

template <class Number>
std::optional<Number> parse(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string with_pid(std::string_view path) {
  std::string result(path);
  for (auto at = result.find("%p"); at != result.npos; at = result.find("%p", at)) {
    result.replace(at, 2, std::to_string(getpid()));
  }
  return result;
}

Checked read_profile(Settings& settings) {
  const std::string_view text = variable("SIMGPU_PROFILE");
  const auto profile = find_profile(text.empty() ? "a100" : text);
  if (!profile) return tl::unexpected(bad("SIMGPU_PROFILE", text, profile.error()));
  settings.profile = *profile;
  return {};
}

Checked read_seed(Settings& settings) {
  const std::string_view text = variable("SIMGPU_SEED");
  if (text.empty()) return {};
  const auto seed = parse<std::uint64_t>(text);
  if (!seed) return tl::unexpected(bad("SIMGPU_SEED", text, "a whole number, 0 for submission order"));
  settings.seed = *seed;
  return {};
}

Checked read_workers(Settings& settings) {
  const std::string_view text = variable("SIMGPU_WORKERS");
  if (text.empty()) return {};
  const auto workers = parse<unsigned>(text);
  if (!workers || *workers < 1 || *workers > 64) return tl::unexpected(bad("SIMGPU_WORKERS", text, "from 1 to 64"));
  settings.loader.workers = *workers;
  return {};
}

Checked read_compute_capability(Settings& settings) {
  const std::string_view text = variable("SIMGPU_CC");
  if (text.empty()) return {};
  const auto dot = text.find('.');
  const auto major = parse<int>(text.substr(0, dot));
  const auto minor = dot == text.npos ? std::nullopt : parse<int>(text.substr(dot + 1));
  if (!major || !minor || *major < 5 || *major > 12 || *minor < 0 || *minor > 9) {
    return tl::unexpected(bad("SIMGPU_CC", text, "a compute capability from 5.0 to 12.9, such as 7.5"));
  }
  settings.compute_major = *major;
  settings.compute_minor = *minor;
  return {};
}

std::string cache_dir() {
  if (const auto dir = variable("SIMGPU_CACHE"); !dir.empty()) return std::string(dir);
  if (const auto dir = variable("XDG_CACHE_HOME"); !dir.empty()) return fmt::format("{}/simgpu", dir);
  if (const auto dir = variable("HOME"); !dir.empty()) return fmt::format("{}/.cache/simgpu", dir);
  return fmt::format("/tmp/simgpu-{}", getuid());
}

}  // namespace

tl::expected<Settings, std::string> read_settings() {
  Settings settings;
  for (const auto read : {read_profile, read_seed, read_workers, read_compute_capability}) {
    if (const auto checked = read(settings); !checked) return tl::unexpected(checked.error());
  }
  settings.log_path = with_pid(variable("SIMGPU_LOG"));
  settings.stats_path = with_pid(variable("SIMGPU_STATS"));
  settings.loader.cache_dir = cache_dir();
  const std::string_view compiler = variable("SIMGPU_COMPILER");
  settings.loader.compiler = compiler.empty() ? "g++" : std::string(compiler);
  return settings;
}

}  // namespace simgpu
