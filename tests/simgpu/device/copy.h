#pragma once

// Copies and fills of device memory, of up to three dimensions. Every device byte is looked up before one is touched.

#include <cstdint>
#include <tl/expected.hpp>
#include <vector>

#include "tests/simgpu/device/op.h"
#include "tests/simgpu/device/window.h"

namespace simgpu {

enum class Place { device, locked, pageable };

struct CopySide {
  Place place;
  std::uint64_t address;
  std::uint64_t pitch = 0;  ///< bytes from row to row
  std::uint64_t slice = 0;  ///< bytes from plane to plane
};

struct CopyShape {
  std::uint64_t width;  ///< bytes
  std::uint64_t height = 1;
  std::uint64_t depth = 1;
  std::uint64_t bytes() const noexcept { return width * height * depth; }
};

/// What a copy reads and writes; sides and shape are fixed at submission.
struct Copy {
  CopySide to;
  CopySide from;
  CopyShape shape;

  OpKind kind() const noexcept;
  Engine engine() const noexcept;
  bool pageable() const noexcept { return to.place == Place::pageable || from.place == Place::pageable; }
  Cost cost(const Profile& profile) const noexcept;
  /// Rows of a pageable source, packed; the copy then reads those. Keep the vector alive until it has run.
  std::vector<std::byte> stage();
  tl::expected<void, Fault> run(const Window& window) const;
};

struct Fill {
  std::uint64_t address;
  std::uint64_t pitch;
  std::uint64_t width;  ///< elements
  std::uint64_t height;
  std::uint32_t value;
  std::uint32_t element_bytes;  ///< 1, 2 or 4

  Cost cost(const Profile& profile) const noexcept;
  tl::expected<void, Fault> run(const Window& window) const;
};

}  // namespace simgpu
