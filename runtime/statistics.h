#pragma once

// Counters of the process, and their JSON form (setting `stats`). Counting never takes a lock.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace tensorpager {

class Counter {
 public:
  void add(std::uint64_t more = 1) noexcept { value_.fetch_add(more, std::memory_order_relaxed); }
  void subtract(std::uint64_t less) noexcept { value_.fetch_sub(less, std::memory_order_relaxed); }
  void set(std::uint64_t value) noexcept { value_.store(value, std::memory_order_relaxed); }
  void raise_to(std::uint64_t value) noexcept {
    auto now = value_.load(std::memory_order_relaxed);
    while (now < value && !value_.compare_exchange_weak(now, value, std::memory_order_relaxed)) {
    }
  }
  std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

struct Statistics {
  // Ops that the hooks saw, by kind.
  Counter launches, copies, memsets, allocs, frees;
  // What the pager did.
  Counter evictions, loads, bytes_evicted, bytes_loaded;  // evictions and loads count granules
  Counter maps, unmaps, chunks_created;
  Counter refused_allocs, refused_ops;
  // Levels, in bytes.
  Counter budget, fixed_cost, tensor_bytes, tensor_peak, device_peak, host_peak;
  Counter granularity, passed_through_allocs;

  Counter fixed_cost_peak;

  void tensor_added(std::size_t bytes) noexcept;
  /// Code that is unloaded lowers it again.
  void set_fixed_cost(std::size_t bytes) noexcept {
    fixed_cost.set(bytes);
    fixed_cost_peak.raise_to(bytes);
  }
  void tensor_removed(std::size_t bytes) noexcept { tensor_bytes.subtract(bytes); }
};

Statistics& statistics() noexcept;

/// Writes them where the setting says; does nothing with an empty path.
void write_statistics(const std::string& path, const char* policy, const char* state) noexcept;

}  // namespace tensorpager
