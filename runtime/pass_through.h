#pragma once

#include <cuda.h>

#include <cstddef>
#include <mutex>
#include <unordered_map>

namespace tensorpager {

/// Allocations that the driver made for the job and that we only count. Threads: any.
class PassThrough {
 public:
  void add(CUdeviceptr address, std::size_t bytes);
  /// The bytes that the address had, or 0 for one that is not known.
  std::size_t remove(CUdeviceptr address);
  /// The context that they belonged to is gone.
  void clear();

 private:
  std::mutex mutex_;
  std::unordered_map<CUdeviceptr, std::size_t> bytes_;
};

}  // namespace tensorpager
