#include "tests/simgpu/device/op.h"

#include <algorithm>

namespace simgpu {

std::string_view name_of(OpKind kind) noexcept {
  switch (kind) {
    case OpKind::kernel:
      return "kernel";
    case OpKind::copy_in:
      return "copy_in";
    case OpKind::copy_out:
      return "copy_out";
    case OpKind::copy_on_device:
      return "copy_on_device";
    case OpKind::copy_on_host:
      return "copy_on_host";
    case OpKind::memset:
      return "memset";
    case OpKind::host_function:
      return "host_function";
    case OpKind::event:
      return "event";
    case OpKind::wait:
      return "wait";
    case OpKind::allocate:
      return "allocate";
    case OpKind::free:
      return "free";
  }
  return "unknown";
}

void merge(OrderClock& into, const OrderClock& other) {
  for (const auto& [stream, index] : other) {
    std::uint64_t& known = into[stream];
    known = std::max(known, index);
  }
}

}  // namespace simgpu
