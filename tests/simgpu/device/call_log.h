#pragma once

// The log of driver calls, one line each; README.md documents the format, which does not change.

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "tests/simgpu/device/profile.h"

namespace simgpu {

struct CallRecord {
  std::uint64_t sequence;
  Nanoseconds entered;
  std::uint32_t thread;
  std::string_view name;
  int result;
  std::string_view arguments;  ///< "\tkey=value" each
};

/// Writes are line buffered, so that a process that dies leaves the lines of all calls that returned.
class CallLog {
 public:
  CallLog() = default;
  ~CallLog();
  CallLog(const CallLog&) = delete;
  CallLog& operator=(const CallLog&) = delete;
  /// False, with errno set, when the file cannot be made.
  bool open(const std::string& path);
  bool is_open() const noexcept { return file_ != nullptr; }
  void write(const CallRecord& record);

 private:
  std::FILE* file_ = nullptr;
};

}  // namespace simgpu
