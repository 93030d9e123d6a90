#include "tests/simgpu/device/window.h"

#include <sys/mman.h>

#include <iterator>
#include <system_error>

namespace simgpu {
namespace {

void* pointer(std::uint64_t address) {
  return reinterpret_cast<void*>(address);
}

constexpr int kReserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

bool reserve(std::uint64_t address, std::uint64_t bytes, int where) {
  return mmap(pointer(address), bytes, PROT_NONE, kReserved | where, -1, 0) == pointer(address);
}

bool map_pieces(std::uint64_t address, const PhysicalMemory& memory, int protection) {
  for (const Range& piece : memory.pieces()) {
    void* const mapped = mmap(pointer(address), piece.bytes, protection, MAP_SHARED | MAP_FIXED, memory.descriptor(),
                              static_cast<off_t>(piece.begin));
    if (mapped == MAP_FAILED) return false;
    address += piece.bytes;
  }
  return true;
}

}  // namespace

Window::Window() : free_(kWindowBase, kWindowBytes) {
  if (!reserve(kWindowBase, kWindowBytes, MAP_FIXED_NOREPLACE)) {
    throw std::system_error(errno, std::generic_category(), "the device's address window");
  }
  if (!reserve(kWindowBase + kAliasOffset, kWindowBytes, MAP_FIXED_NOREPLACE)) {
    munmap(pointer(kWindowBase), kWindowBytes);
    throw std::system_error(errno, std::generic_category(), "the alias of the device's address window");
  }
  madvise(pointer(kWindowBase + kAliasOffset), kWindowBytes, MADV_DONTDUMP);
}

Window::~Window() {
  munmap(pointer(kWindowBase), kWindowBytes);
  munmap(pointer(kWindowBase + kAliasOffset), kWindowBytes);
}

std::optional<std::uint64_t> Window::take(std::uint64_t bytes, std::uint64_t alignment, std::uint64_t hint) {
  if (hint % alignment == 0 && contains(hint) && free_.take_at(hint, bytes)) return hint;
  return free_.take(bytes, alignment);
}

bool Window::map(std::uint64_t address, const PhysicalMemory& memory, Access access) {
  const int protection = access == Access::read ? PROT_READ : PROT_READ | PROT_WRITE;
  if (!map_pieces(address + kAliasOffset, memory, protection)) return false;
  mapped_[address] = {address + memory.bytes(), access};
  return true;
}

bool Window::map_for_host(std::uint64_t address, const PhysicalMemory& memory) {
  return map(address, memory, Access::read_write) && map_pieces(address, memory, PROT_READ | PROT_WRITE);
}

void Window::unmap(std::uint64_t address, std::uint64_t bytes) {
  reserve(address + kAliasOffset, bytes, MAP_FIXED);
  mapped_.erase(mapped_.lower_bound(address), mapped_.lower_bound(address + bytes));
}

void Window::unmap_for_host(std::uint64_t address, std::uint64_t bytes) {
  reserve(address, bytes, MAP_FIXED);
  unmap(address, bytes);
}

std::optional<std::uint64_t> Window::first_fault(std::uint64_t address, std::uint64_t bytes, Access access) const {
  const std::uint64_t end = address + bytes;
  while (address < end) {
    auto range = mapped_.upper_bound(address);
    if (range == mapped_.begin()) return address;
    --range;
    if (range->second.end <= address || (access == Access::read_write && range->second.access == Access::read)) {
      return address;
    }
    address = range->second.end;
  }
  return std::nullopt;
}

}  // namespace simgpu
