#include "profiler/cli/hello_pipe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace tensorpager::cli {
namespace {

// Above the numbers that shell scripts use.
constexpr int kLeastDescriptor = 200;
constexpr std::size_t kPipeCapacity = 65536;

int moved_up(int descriptor) {
  const int high = ::fcntl(descriptor, F_DUPFD, kLeastDescriptor);
  if (high < 0) return descriptor;
  ::close(descriptor);
  return high;
}

}  // namespace

HelloPipe::HelloPipe() {
  int ends[2];
  if (::pipe2(ends, O_NONBLOCK) != 0) return;
  read_end_ = ends[0];
  ::fcntl(read_end_, F_SETFD, FD_CLOEXEC);
  write_end_ = moved_up(ends[1]);
}

HelloPipe::~HelloPipe() {
  if (read_end_ >= 0) ::close(read_end_);
  if (write_end_ >= 0) ::close(write_end_);
}

std::string HelloPipe::name() const {
  struct stat status;
  if (write_end_ < 0 || ::fstat(write_end_, &status) != 0) return {};
  return fmt::format("{}:{}:{}", write_end_, status.st_dev, status.st_ino);
}

HelloPipe::Heard HelloPipe::listen() {
  Heard heard;
  std::size_t total = 0;
  std::array<char, 4096> letters;
  for (ssize_t got = 0; (got = ::read(read_end_, letters.data(), letters.size())) > 0;) {
    const auto end = letters.begin() + got;
    heard.loaded |= std::find(letters.begin(), end, 'L') != end;
    heard.driver_opened |= std::find(letters.begin(), end, 'D') != end;
    total += static_cast<std::size_t>(got);
  }
  heard.certain = read_end_ >= 0 && total < kPipeCapacity;
  return heard;
}

}  // namespace tensorpager::cli
