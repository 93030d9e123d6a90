#include "tests/simgpu/device/virtual_memory.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace simgpu {
namespace {

auto invalid() {
  return tl::unexpected(CUDA_ERROR_INVALID_VALUE);
}

constexpr std::uint64_t kPage = 4096;

}  // namespace

tl::expected<std::uint64_t, CUresult> VirtualMemory::reserve(std::uint64_t bytes, std::uint64_t alignment,
                                                             std::uint64_t hint) {
  if (bytes == 0 || bytes % kPage != 0 || (alignment != 0 && !std::has_single_bit(alignment))) return invalid();
  const auto address = window_.take(bytes, std::max(alignment, granularity_), hint);
  if (!address) return tl::unexpected(CUDA_ERROR_OUT_OF_MEMORY);
  reservations_[*address] = bytes;
  return *address;
}

Done VirtualMemory::free(std::uint64_t address, std::uint64_t bytes) {
  const auto reservation = reservations_.find(address);
  if (reservation == reservations_.end() || reservation->second != bytes) return invalid();
  const auto mapping = mappings_.lower_bound(address);
  if (mapping != mappings_.end() && mapping->first < address + bytes) return invalid();
  window_.give_back(address, bytes);
  reservations_.erase(reservation);
  return {};
}

tl::expected<VirtualMemory::Handle, CUresult> VirtualMemory::create(std::uint64_t bytes) {
  if (bytes == 0 || bytes % granularity_ != 0) return invalid();
  auto memory = PhysicalMemory::create(capacity_, store_, bytes);
  if (!memory) return tl::unexpected(CUDA_ERROR_OUT_OF_MEMORY);
  handles_[next_handle_] = {std::move(memory), 1};
  return next_handle_++;
}

Done VirtualMemory::release(Handle handle) {
  const auto found = handles_.find(handle);
  if (found == handles_.end()) return invalid();
  if (--found->second.references == 0) handles_.erase(found);
  return {};
}

Done VirtualMemory::map(std::uint64_t address, std::uint64_t bytes, std::uint64_t offset, Handle handle) {
  const auto found = handles_.find(handle);
  if (found == handles_.end() || offset != 0) return invalid();
  if (bytes != found->second.memory->bytes() || address % granularity_ != 0) return invalid();
  const auto reservation = reservations_.upper_bound(address);
  if (reservation == reservations_.begin()) return invalid();
  const auto [begin, size] = *std::prev(reservation);
  if (address + bytes > begin + size) return invalid();
  const auto next = mappings_.lower_bound(address);
  if (next != mappings_.end() && next->first < address + bytes) return invalid();
  if (find(address) != nullptr) return invalid();
  mappings_[address] = {address, found->second.memory, handle, Grant::none};
  return {};
}

std::optional<std::pair<VirtualMemory::Mappings::iterator, VirtualMemory::Mappings::iterator>> VirtualMemory::whole(
    std::uint64_t address, std::uint64_t bytes) {
  const auto first = mappings_.find(address);
  auto last = first;
  const std::uint64_t end = address + bytes;
  while (address < end) {
    if (last == mappings_.end() || last->first != address) return std::nullopt;
    address += last->second.memory->bytes();
    ++last;
  }
  if (address != end || first == last) return std::nullopt;
  return std::pair(first, last);
}

Done VirtualMemory::set_access(std::uint64_t address, std::uint64_t bytes, Grant grant) {
  const auto range = whole(address, bytes);
  if (!range) return invalid();
  for (auto at = range->first; at != range->second; ++at) {
    Mapping& mapping = at->second;
    if (grant == Grant::none) {
      window_.unmap(mapping.address, mapping.memory->bytes());
    } else if (!window_.map(mapping.address, *mapping.memory,
                            grant == Grant::read ? Access::read : Access::read_write)) {
      return tl::unexpected(CUDA_ERROR_OUT_OF_MEMORY);
    }
    mapping.grant = grant;
  }
  return {};
}

Done VirtualMemory::unmap(std::uint64_t address, std::uint64_t bytes) {
  const auto range = whole(address, bytes);
  if (!range) return invalid();
  window_.unmap(address, bytes);
  mappings_.erase(range->first, range->second);
  return {};
}

tl::expected<VirtualMemory::Handle, CUresult> VirtualMemory::retain(std::uint64_t address) {
  const Mapping* mapping = find(address);
  if (!mapping) return invalid();
  Referenced& referenced = handles_[mapping->handle];
  referenced.memory = mapping->memory;
  ++referenced.references;
  return mapping->handle;
}

const VirtualMemory::Mapping* VirtualMemory::find(std::uint64_t address) const {
  auto mapping = mappings_.upper_bound(address);
  if (mapping == mappings_.begin()) return nullptr;
  --mapping;
  return address - mapping->first < mapping->second.memory->bytes() ? &mapping->second : nullptr;
}

bool VirtualMemory::reserved(std::uint64_t address) const {
  const auto reservation = reservations_.upper_bound(address);
  return reservation != reservations_.begin() &&
         address - std::prev(reservation)->first < std::prev(reservation)->second;
}

}  // namespace simgpu
