#include "tests/simgpu/device/call_log.h"

#include <fmt/format.h>

namespace simgpu {

CallLog::~CallLog() {
  if (file_) std::fclose(file_);
}

bool CallLog::open(const std::string& path) {
  file_ = std::fopen(path.c_str(), "we");
  if (file_) std::setvbuf(file_, nullptr, _IOLBF, 1 << 16);
  return file_ != nullptr;
}

void CallLog::write(const CallRecord& r) {
  if (!file_) return;
  const std::string line =
      fmt::format("{}\t{}\t{}\t{}\t{}{}\n", r.sequence, r.entered, r.thread, r.name, r.result, r.arguments);
  std::fwrite(line.data(), 1, line.size(), file_);
}

}  // namespace simgpu
