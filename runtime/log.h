#pragma once

// Lines for the user: to stderr or the log file, one write(2) a line, never stdout, never more than kLinesPerSite of a
// kind. Format: tensorpager[host:pid:tid] level topic: text

#include <fmt/format.h>

#include <atomic>
#include <string_view>

namespace tensorpager {

enum class LogLevel : int { error, warn, info, debug };

/// Before the first line; later calls change both. An empty path is stderr.
void configure_log(LogLevel level, std::string_view path) noexcept;

bool log_enabled(LogLevel level) noexcept;

/// Writes one line; cuts what exceeds 1 KiB.
void write_log(LogLevel level, std::string_view topic, std::string_view text) noexcept;

/// A place in the code that logs: counts its lines, so that a loop cannot flood the job's output.
class LogSite {
 public:
  static constexpr unsigned kLinesPerSite = 32;

  /// The number of the line that is to be written, from 1. After kLinesPerSite, the site is silent.
  unsigned next() noexcept { return count_.fetch_add(1, std::memory_order_relaxed) + 1; }

 private:
  std::atomic<unsigned> count_{0};
};

template <class... Arguments>
void format_log(LogLevel level, std::string_view topic, fmt::format_string<Arguments...> format,
                Arguments&&... arguments) noexcept {
  char text[1024];
  try {
    const auto result = fmt::format_to_n(text, sizeof text, format, std::forward<Arguments>(arguments)...);
    write_log(level, topic, {text, std::min(result.size, sizeof text)});
  } catch (...) {
    write_log(level, topic, "a message could not be formatted");
  }
}

/// TENSORPAGER_LOG(warn, "transfer", "pinning {} failed", bytes);
#define TENSORPAGER_LOG(level, topic, ...)                                             \
  do {                                                                                 \
    using ::tensorpager::LogLevel;                                                     \
    using ::tensorpager::LogSite;                                                      \
    static LogSite site;                                                               \
    if (!::tensorpager::log_enabled(LogLevel::level)) break;                           \
    const unsigned line = site.next();                                                 \
    if (line > LogSite::kLinesPerSite) break;                                          \
    ::tensorpager::format_log(LogLevel::level, topic, __VA_ARGS__);                    \
    if (line == LogSite::kLinesPerSite) {                                              \
      ::tensorpager::write_log(LogLevel::level, topic, "more such lines are dropped"); \
    }                                                                                  \
  } while (false)

}  // namespace tensorpager
