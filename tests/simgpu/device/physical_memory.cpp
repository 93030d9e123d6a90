#include "tests/simgpu/device/physical_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

namespace simgpu {

PhysicalStore::PhysicalStore(const char* name, std::uint64_t bytes)
    : descriptor_(memfd_create(name, MFD_CLOEXEC)), free_(0, bytes) {
  if (descriptor_ < 0 || ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) {
    throw std::system_error(errno, std::generic_category(), name);
  }
}

PhysicalStore::~PhysicalStore() {
  close(descriptor_);
}

void PhysicalStore::give_back(const std::vector<Range>& pieces) {
  for (const Range& piece : pieces) {
    fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(piece.begin),
              static_cast<off_t>(piece.bytes));
    free_.give_back(piece.begin, piece.bytes);
  }
}

bool Capacity::charge(std::uint64_t bytes) noexcept {
  if (bytes > total_ - used_) return false;
  used_ += bytes;
  high_water_ = std::max(high_water_, used_);
  return true;
}

PhysicalMemory::PhysicalMemory(Capacity& capacity, PhysicalStore& store, std::uint64_t bytes)
    : capacity_(capacity), store_(store), bytes_(bytes), pieces_(store.take(bytes)) {}

PhysicalMemory::~PhysicalMemory() {
  store_.give_back(pieces_);
  capacity_.discharge(bytes_);
}

std::shared_ptr<PhysicalMemory> PhysicalMemory::create(Capacity& capacity, PhysicalStore& store, std::uint64_t bytes) {
  if (bytes == 0 || !capacity.charge(bytes)) return nullptr;
  return std::shared_ptr<PhysicalMemory>(new PhysicalMemory(capacity, store, bytes));
}

}  // namespace simgpu
