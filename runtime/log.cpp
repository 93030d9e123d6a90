#include "runtime/log.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

namespace tensorpager {
namespace {

constexpr std::array<std::string_view, 4> kLevelNames{"error", "warn", "info", "debug"};

std::atomic<int> g_level{static_cast<int>(LogLevel::warn)};
std::atomic<int> g_descriptor{STDERR_FILENO};

const char* host_name() noexcept {
  static const std::array<char, 65> name = [] {
    std::array<char, 65> text{};
    if (gethostname(text.data(), text.size() - 1) != 0) text[0] = '?';
    return text;
  }();
  return name.data();
}

int open_log(std::string_view path) noexcept {
  char name[4096];
  if (path.empty() || path.size() >= sizeof name) return STDERR_FILENO;
  *std::copy(path.begin(), path.end(), name) = '\0';
  const int descriptor = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  return descriptor < 0 ? STDERR_FILENO : descriptor;
}

}  // namespace

void configure_log(LogLevel level, std::string_view path) noexcept {
  g_level.store(static_cast<int>(level), std::memory_order_relaxed);
  const int descriptor = open_log(path);
  g_descriptor.store(descriptor, std::memory_order_relaxed);
  if (!path.empty() && descriptor == STDERR_FILENO) {
    format_log(LogLevel::warn, "log", "{} cannot be opened; lines go to stderr. Check: log_file", path);
  }
}

bool log_enabled(LogLevel level) noexcept {
  return static_cast<int>(level) <= g_level.load(std::memory_order_relaxed);
}

void write_log(LogLevel level, std::string_view topic, std::string_view text) noexcept {
  char line[1400];
  char* end = line;
  try {
    end = fmt::format_to_n(line, sizeof line - 1, "tensorpager[{}:{}:{}] {} {}: {}", host_name(), getpid(),
                           syscall(SYS_gettid), kLevelNames[static_cast<std::size_t>(level)], topic, text)
              .out;
  } catch (...) {
    return;
  }
  *end++ = '\n';
  // A full pipe or a closed stderr is the job's business; the line is lost, the job goes on.
  [[maybe_unused]] const auto written =
      write(g_descriptor.load(std::memory_order_relaxed), line, static_cast<std::size_t>(end - line));
}

}  // namespace tensorpager
