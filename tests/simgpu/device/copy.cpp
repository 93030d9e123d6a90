#include "tests/simgpu/device/copy.h"

#include <fmt/format.h>

#include <cstring>

namespace simgpu {
namespace {

std::byte* row_of(const CopySide& side, std::uint64_t row, std::uint64_t plane) {
  const std::uint64_t address = side.address + plane * side.slice + row * side.pitch;
  return side.place == Place::pageable || !Window::contains(address) ? reinterpret_cast<std::byte*>(address)
                                                                     : host_alias(address);
}

bool contiguous(const CopySide& side, const CopyShape& shape) {
  return (shape.height == 1 || side.pitch == shape.width) &&
         (shape.depth == 1 || side.slice == shape.width * shape.height);
}

template <class Visit>
void for_each_row(const CopyShape& shape, Visit visit) {
  for (std::uint64_t plane = 0; plane < shape.depth; ++plane) {
    for (std::uint64_t row = 0; row < shape.height; ++row) visit(row, plane);
  }
}

tl::expected<void, Fault> check(const Window& window, std::uint64_t address, std::uint64_t bytes, Access access,
                                std::string_view what) {
  const auto fault = window.first_fault(address, bytes, access);
  if (!fault) return {};
  return tl::unexpected(Fault{CUDA_ERROR_ILLEGAL_ADDRESS,
                              fmt::format("{} {} bytes at {:#x}: {:#x} is not resident{}", what, bytes, address, *fault,
                                          access == Access::read_write ? " and writable" : "")});
}

tl::expected<void, Fault> check(const Window& window, const CopySide& side, const CopyShape& shape, Access access) {
  if (side.place == Place::pageable || !Window::contains(side.address)) return {};
  const std::string_view what = access == Access::read ? "copy from" : "copy to";
  if (contiguous(side, shape)) return check(window, side.address, shape.bytes(), access, what);
  tl::expected<void, Fault> checked;
  for_each_row(shape, [&](std::uint64_t row, std::uint64_t plane) {
    if (checked)
      checked = check(window, side.address + plane * side.slice + row * side.pitch, shape.width, access, what);
  });
  return checked;
}

template <class Element>
void fill_row(std::byte* at, std::uint64_t elements, std::uint32_t value) {
  const auto element = static_cast<Element>(value);
  for (std::uint64_t i = 0; i < elements; ++i) std::memcpy(at + i * sizeof(Element), &element, sizeof(Element));
}

}  // namespace

OpKind Copy::kind() const noexcept {
  if (to.place == Place::device) return from.place == Place::device ? OpKind::copy_on_device : OpKind::copy_in;
  return from.place == Place::device ? OpKind::copy_out : OpKind::copy_on_host;
}

// A copy on the device takes memory bandwidth, hence runs where kernels run.
Engine Copy::engine() const noexcept {
  switch (kind()) {
    case OpKind::copy_in:
      return Engine::copy_in;
    case OpKind::copy_out:
      return Engine::copy_out;
    case OpKind::copy_on_device:
      return Engine::compute;
    default:
      return Engine::none;
  }
}

Cost Copy::cost(const Profile& profile) const noexcept {
  if (kind() == OpKind::copy_on_device) return {profile.copy_latency, time_for(2 * shape.bytes(), profile.memory_rate)};
  if (kind() == OpKind::copy_on_host) return {0, time_for(shape.bytes(), profile.staging_rate)};
  const double rate = pageable()                  ? profile.pageable_rate
                      : kind() == OpKind::copy_in ? profile.link_in_rate
                                                  : profile.link_out_rate;
  return {profile.copy_latency, time_for(shape.bytes(), rate)};
}

std::vector<std::byte> Copy::stage() {
  std::vector<std::byte> staged(shape.bytes());
  std::byte* at = staged.data();
  for_each_row(shape, [&](std::uint64_t row, std::uint64_t plane) {
    std::memcpy(at, row_of(from, row, plane), shape.width);
    at += shape.width;
  });
  from = {Place::pageable, reinterpret_cast<std::uint64_t>(staged.data()), shape.width, shape.width * shape.height};
  return staged;
}

tl::expected<void, Fault> Copy::run(const Window& window) const {
  if (const auto readable = check(window, from, shape, Access::read); !readable) return readable;
  if (const auto writable = check(window, to, shape, Access::read_write); !writable) return writable;
  if (contiguous(from, shape) && contiguous(to, shape)) {
    std::memmove(row_of(to, 0, 0), row_of(from, 0, 0), shape.bytes());
    return {};
  }
  for_each_row(shape, [&](std::uint64_t row, std::uint64_t plane) {
    std::memmove(row_of(to, row, plane), row_of(from, row, plane), shape.width);
  });
  return {};
}

Cost Fill::cost(const Profile& profile) const noexcept {
  return {profile.launch_latency, time_for(width * element_bytes * height, profile.memory_rate)};
}

tl::expected<void, Fault> Fill::run(const Window& window) const {
  for (std::uint64_t row = 0; row < height; ++row) {
    const std::uint64_t begin = address + row * pitch;
    if (auto writable = check(window, begin, width * element_bytes, Access::read_write, "memset of"); !writable) {
      return writable;
    }
    std::byte* const at = host_alias(begin);
    if (element_bytes == 1) std::memset(at, static_cast<int>(value & 0xff), width);
    if (element_bytes == 2) fill_row<std::uint16_t>(at, width, value);
    if (element_bytes == 4) fill_row<std::uint32_t>(at, width, value);
  }
  return {};
}

}  // namespace simgpu
