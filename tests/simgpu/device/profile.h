#pragma once

// The figures of the simulated GPUs. Times are nanoseconds of virtual time, rates bytes or instructions a second.

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace simgpu {

using Nanoseconds = std::uint64_t;

/// What a call costs the thread that makes it.
struct ApiCosts {
  Nanoseconds none = 0;
  Nanoseconds call;         ///< any call without a figure of its own
  Nanoseconds query;        ///< an event or stream query; must be positive, else a polling loop never ends
  Nanoseconds launch;       ///< enqueue a kernel
  Nanoseconds copy;         ///< enqueue a copy or a memset
  Nanoseconds event;        ///< record, wait
  Nanoseconds synchronize;  ///< before the jump to the completion
  Nanoseconds memory_info;
  Nanoseconds pool;      ///< stream-ordered allocation or free that is served from the pool
  Nanoseconds allocate;  ///< plain allocation or free; each granule costs per_granule_allocated more
  Nanoseconds reserve;
  Nanoseconds load_module;
};

/// What virtual memory management costs, each for one chunk of the granularity.
struct MapCosts {
  Nanoseconds create;
  Nanoseconds release;
  Nanoseconds map;
  Nanoseconds access;
  Nanoseconds unmap;
};

struct Profile {
  std::string_view name;
  std::string_view device_name;
  std::uint64_t capacity;       ///< device memory
  std::uint64_t granularity;    ///< of chunks
  std::uint64_t context_bytes;  ///< device memory that a context takes
  std::uint64_t module_bytes;   ///< device memory that the code of one loaded module takes
  std::uint64_t host_memory;    ///< what can be page-locked
  double memory_rate;           ///< bytes a second that kernels move
  double instruction_rate;      ///< thread instructions a second, whole device
  double link_in_rate;          ///< host to device, page-locked
  double link_out_rate;         ///< device to host, page-locked
  double pageable_rate;         ///< either way, pageable host memory
  double staging_rate;          ///< the host's own copy of a pageable source into the staging buffer
  double pin_rate;              ///< page-locking
  double duplex_loss;           ///< share of its rate that a transfer loses while one runs the other way
  Nanoseconds launch_latency;
  Nanoseconds copy_latency;
  Nanoseconds host_function;
  Nanoseconds per_granule_allocated;
  std::uint32_t queue_depth;  ///< ops in flight in one stream before a submission waits
  ApiCosts api;
  MapCosts chunk;
  std::uint32_t multiprocessors;
  std::uint32_t clock_khz;
  std::uint32_t memory_clock_khz;
  std::uint32_t bus_bits;
  std::uint64_t l2_bytes;
};

/// `text` is a name, or a name and ",skew". The error says which names exist.
tl::expected<Profile, std::string> find_profile(std::string_view text);

/// Time for `amount` at `rate` a second, rounded up.
Nanoseconds time_for(std::uint64_t amount, double rate) noexcept;

}  // namespace simgpu
