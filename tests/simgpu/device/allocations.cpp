#include "tests/simgpu/device/allocations.h"

#include <algorithm>
#include <iterator>

namespace simgpu {
namespace {

constexpr std::uint64_t kHostPage = 4096;
// Between two segments lies a hole, so that running over the end of one faults.
constexpr std::uint64_t kHole = 2 << 20;

bool always(const BlockHeap::Guard&) {
  return true;
}

}  // namespace

Segments::~Segments() {
  while (!open_.empty()) close(open_.begin()->first);
}

std::optional<std::uint64_t> Segments::open(std::uint64_t bytes) {
  bytes = rounded(bytes);
  auto memory = PhysicalMemory::create(capacity_, store_, bytes);
  if (!memory) return std::nullopt;
  const auto address = window_.take(bytes + kHole, std::max<std::uint64_t>(granularity_, kHole));
  if (!address) return std::nullopt;
  if (!window_.map(*address, *memory, Access::read_write)) {
    window_.give_back(*address, bytes + kHole);
    return std::nullopt;
  }
  open_[*address] = std::move(memory);
  return address;
}

void Segments::close(std::uint64_t address) {
  const auto segment = open_.find(address);
  const std::uint64_t bytes = segment->second->bytes();
  window_.unmap(address, bytes);
  window_.give_back(address, bytes + kHole);
  open_.erase(segment);
}

Allocations::Allocations(Window& window, Segments& segments, std::uint64_t host_memory)
    : window_(window), segments_(segments), host_capacity_(host_memory), host_store_("simgpu-host", host_memory) {}

Allocations::~Allocations() {
  while (!table_.empty()) remove(table_.begin()->first);
}

void Allocations::add(Allocation allocation) {
  allocation.id = next_id_++;
  table_[allocation.address] = allocation;
}

// Below half a granule blocks share segments, as on a real device.
std::optional<std::uint64_t> Allocations::allocate(std::uint64_t bytes, Context* context) {
  const bool whole = bytes > segments_.granularity() / 2;
  auto address = whole ? segments_.open(bytes) : small_.take(bytes, always);
  if (!address && !whole) {
    const auto segment = segments_.open(segments_.granularity());
    if (!segment) return std::nullopt;
    small_.add_segment(*segment, segments_.granularity());
    address = small_.take(bytes, always);
  }
  if (!address) return std::nullopt;
  add({Allocation::Kind::device, *address, bytes, 0, context, nullptr, 0, whole});
  return address;
}

std::optional<std::uint64_t> Allocations::allocate_host(std::uint64_t bytes, unsigned flags, Context* context) {
  auto memory = PhysicalMemory::create(host_capacity_, host_store_, round_up(bytes, kHostPage));
  if (!memory) return std::nullopt;
  const auto address = window_.take(memory->bytes() + kHole, kHole);
  if (!address || !window_.map_for_host(*address, *memory)) return std::nullopt;
  host_[*address] = std::move(memory);
  add({Allocation::Kind::host, *address, bytes, 0, context, nullptr, flags});
  return address;
}

void Allocations::register_host(std::uint64_t address, std::uint64_t bytes, unsigned flags, Context* context) {
  add({Allocation::Kind::registered_host, address, bytes, 0, context, nullptr, flags});
}

void Allocations::add_pool_block(std::uint64_t address, std::uint64_t bytes, std::shared_ptr<MemoryPool> pool,
                                 Context* context) {
  add({Allocation::Kind::pool, address, bytes, 0, context, std::move(pool), 0});
}

void Allocations::remove_device(const Allocation& allocation) {
  if (allocation.whole_segment) return segments_.close(allocation.address);
  small_.give_back(allocation.address, {});
  for (const std::uint64_t segment : small_.idle_segments(always)) {
    small_.remove_segment(segment);
    segments_.close(segment);
  }
}

void Allocations::remove(std::uint64_t address) {
  const Allocation allocation = table_.at(address);
  table_.erase(address);
  if (allocation.kind == Allocation::Kind::device) remove_device(allocation);
  if (allocation.kind == Allocation::Kind::host) {
    const auto memory = host_.find(address);
    window_.unmap_for_host(address, memory->second->bytes());
    window_.give_back(address, memory->second->bytes() + kHole);
    host_.erase(memory);
  }
}

const Allocation* Allocations::at(std::uint64_t address) const {
  const auto found = table_.find(address);
  return found == table_.end() ? nullptr : &found->second;
}

const Allocation* Allocations::find(std::uint64_t address) const {
  auto found = table_.upper_bound(address);
  if (found == table_.begin()) return nullptr;
  --found;
  return address - found->first < std::max<std::uint64_t>(found->second.bytes, 1) ? &found->second : nullptr;
}

std::vector<std::uint64_t> Allocations::of_context(const Context* context) const {
  std::vector<std::uint64_t> addresses;
  for (const auto& [address, allocation] : table_) {
    if (allocation.context == context) addresses.push_back(address);
  }
  return addresses;
}

std::size_t Allocations::count(Allocation::Kind kind) const {
  return static_cast<std::size_t>(
      std::count_if(table_.begin(), table_.end(), [&](const auto& entry) { return entry.second.kind == kind; }));
}

}  // namespace simgpu
