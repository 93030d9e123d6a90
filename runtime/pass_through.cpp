#include "runtime/pass_through.h"

namespace tensorpager {

void PassThrough::add(CUdeviceptr address, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  bytes_[address] = bytes;
}

void PassThrough::clear() {
  const std::lock_guard lock(mutex_);
  bytes_.clear();
}

std::size_t PassThrough::remove(CUdeviceptr address) {
  const std::lock_guard lock(mutex_);
  const auto entry = bytes_.find(address);
  if (entry == bytes_.end()) return 0;
  const std::size_t bytes = entry->second;
  bytes_.erase(entry);
  return bytes;
}

}  // namespace tensorpager
