#pragma once

// A tensor is one stream-ordered allocation, made where it is first written and freed on the stream of its last use.

#include <cstddef>
#include <utility>
#include <vector>

#include "bench/workloads/digits_cnn/check.h"

template <typename T>
class DeviceArray {
 public:
  DeviceArray() = default;
  DeviceArray(std::size_t count, cudaStream_t stream) : count_(count), stream_(stream) {
    CHECK(cudaMallocAsync(reinterpret_cast<void**>(&data_), bytes(), stream));
  }
  DeviceArray(DeviceArray&& other) noexcept { swap(other); }
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceArray() { free(stream_); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return count_; }
  std::size_t bytes() const { return count_ * sizeof(T); }

  /// What `stream` was given so far may still use the memory; what comes later may not.
  void free(cudaStream_t stream) {
    if (data_ != nullptr) CHECK(cudaFreeAsync(data_, stream));
    data_ = nullptr;
  }

 private:
  void swap(DeviceArray& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    std::swap(stream_, other.stream_);
  }

  T* data_ = nullptr;
  std::size_t count_ = 0;
  cudaStream_t stream_ = nullptr;
};

using Tensor = DeviceArray<float>;

inline Tensor to_device(const std::vector<float>& values, cudaStream_t stream) {
  Tensor tensor(values.size(), stream);
  CHECK(cudaMemcpyAsync(tensor.data(), values.data(), tensor.bytes(), cudaMemcpyHostToDevice, stream));
  CHECK(cudaStreamSynchronize(stream));  // `values` is the caller's
  return tensor;
}
