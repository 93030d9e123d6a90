#include "interpose/report.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>

namespace tensorpager {

void say(std::initializer_list<std::string_view> parts) noexcept {
  std::array<char, 1000> line;
  std::size_t size = 0;
  const auto append = [&](std::string_view part) {
    const std::size_t room = std::min(part.size(), line.size() - 1 - size);
    std::copy_n(part.data(), room, line.data() + size);
    size += room;
  };
  append("tensorpager: ");
  for (std::string_view part : parts) append(part);
  line[size++] = '\n';
  const int kept = errno;
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), size);
  errno = kept;
}

}  // namespace tensorpager
