#include "tests/simgpu/device/profile.h"

#include <array>
#include <cmath>

namespace simgpu {
namespace {

constexpr std::uint64_t kKiB = 1024, kMiB = kKiB * 1024, kGiB = kMiB * 1024;
constexpr double kGiga = 1e9;

// Sources: [D] NVIDIA data sheet; [F] a measurement quoted in the driver facts (kvcached bench_vmm for the VMM figures,
// nvbandwidth posts for the links, dask-cuda issues for host memory); [E] an estimate, to be replaced by a measurement
// on such a device.

constexpr ApiCosts kDriverCosts = {
    .call = 200,             // [E]
    .query = 500,            // [E]
    .launch = 3'000,         // [E] below the 8.3 us seen under two tracers [F]
    .copy = 2'000,           // [E] with copy_latency about 10 us for a small copy [F]
    .event = 1'000,          // [E]
    .synchronize = 2'000,    // [E]
    .memory_info = 6'000,    // [F]
    .pool = 1'500,           // [E]
    .allocate = 10'000,      // [E]
    .reserve = 19'000,       // [F] 8 GB, A100
    .load_module = 500'000,  // [E]
};

constexpr MapCosts kMapCosts = {
    .create = 193'000,  // [F] 2 MiB, A100, mean
    .release = 25'600,  // [E] as unmap
    .map = 1'450,       // [F]
    .access = 36'000,   // [F]
    .unmap = 25'600,    // [F]
};

constexpr Profile kA100 = {
    .name = "a100",
    .device_name = "NVIDIA A100-PCIE-40GB (simulated)",
    .capacity = 40 * kGiB,           // [D]
    .granularity = 2 * kMiB,         // [F]
    .context_bytes = 420 * kMiB,     // [E]
    .module_bytes = 2 * kMiB,        // [E] one granule of code
    .host_memory = 128 * kGiB,       // [E]
    .memory_rate = 1'555 * kGiga,    // [D]
    .instruction_rate = 9.75e12,     // [D] 19.5 Tflop/s of fused multiply-adds: two flops an instruction
    .link_in_rate = 24.8 * kGiga,    // [F] PCIe 4, nvbandwidth
    .link_out_rate = 24.8 * kGiga,   // [F]
    .pageable_rate = 5.5 * kGiga,    // [F]
    .staging_rate = 10 * kGiga,      // [E]
    .pin_rate = 2.7 * kGiga,         // [F] 32 MB in 11.6 ms
    .duplex_loss = 0.56,             // [F] one way falls from 24.8 to 11 GB/s while the other keeps 24
    .launch_latency = 2'000,         // [E]
    .copy_latency = 8'000,           // [F] about 10 us for a small copy, less the call
    .host_function = 10'000,         // [E]
    .per_granule_allocated = 4'580,  // [F] 256 MB in 0.586 ms
    .queue_depth = 1024,             // [E]
    .api = kDriverCosts,
    .chunk = kMapCosts,
    .multiprocessors = 108,         // [D]
    .clock_khz = 1'410'000,         // [D]
    .memory_clock_khz = 1'215'000,  // [D]
    .bus_bits = 5120,               // [D]
    .l2_bytes = 40 * kMiB,          // [D]
};

constexpr Profile titan_x() {
  Profile p = kA100;
  p.name = "titanx";
  p.device_name = "NVIDIA GeForce GTX TITAN X (simulated)";
  p.capacity = 12 * kGiB;          // [D]
  p.context_bytes = 180 * kMiB;    // [E]
  p.host_memory = 64 * kGiB;       // [E]
  p.memory_rate = 336.5 * kGiga;   // [D]
  p.instruction_rate = 3.3e12;     // [D] 6.6 Tflop/s
  p.link_in_rate = 12.8 * kGiga;   // [F] PCIe 3, measured by the vDNN paper on this card
  p.link_out_rate = 12.8 * kGiga;  // [F]
  p.multiprocessors = 24;          // [D]
  p.clock_khz = 1'075'000;         // [D]
  p.memory_clock_khz = 3'505'000;  // [D]
  p.bus_bits = 384;                // [D]
  p.l2_bytes = 3 * kMiB;           // [D]
  return p;
}

constexpr Profile h200() {
  Profile p = kA100;
  p.name = "h200";
  p.device_name = "NVIDIA H200 (simulated)";
  p.capacity = 141 * kGiB;         // [D]
  p.context_bytes = 520 * kMiB;    // [E]
  p.host_memory = 256 * kGiB;      // [E]
  p.memory_rate = 4'800 * kGiga;   // [D]
  p.instruction_rate = 3.35e13;    // [D] 67 Tflop/s
  p.link_in_rate = 55.6 * kGiga;   // [F] PCIe 5, nvbandwidth
  p.link_out_rate = 55.6 * kGiga;  // [F]
  p.multiprocessors = 132;         // [D]
  p.clock_khz = 1'980'000;         // [D]
  p.memory_clock_khz = 3'201'000;  // [E]
  p.bus_bits = 6144;               // [D]
  p.l2_bytes = 50 * kMiB;          // [D]
  return p;
}

// Round figures, so that a test's expected times can be worked out by hand: 1 byte/ns memory x 100, link 10 bytes/ns.
constexpr Profile test_device() {
  Profile p = kA100;
  p.name = "test";
  p.device_name = "simgpu test device";
  p.capacity = 1 * kGiB;
  p.granularity = 64 * kKiB;
  p.context_bytes = 16 * kMiB;
  p.module_bytes = 64 * kKiB;
  p.host_memory = 2 * kGiB;
  p.memory_rate = 100 * kGiga;
  p.instruction_rate = 1e12;
  p.link_in_rate = 10 * kGiga;
  p.link_out_rate = 10 * kGiga;
  p.pageable_rate = 5 * kGiga;
  p.staging_rate = 10 * kGiga;
  p.pin_rate = 10 * kGiga;
  p.duplex_loss = 0.5;
  p.launch_latency = 1'000;
  p.copy_latency = 1'000;
  p.host_function = 1'000;
  p.per_granule_allocated = 100;
  p.queue_depth = 64;
  p.api = {.call = 100,
           .query = 200,
           .launch = 500,
           .copy = 500,
           .event = 200,
           .synchronize = 500,
           .memory_info = 200,
           .pool = 300,
           .allocate = 1'000,
           .reserve = 1'000,
           .load_module = 10'000};
  p.chunk = {.create = 2'000, .release = 500, .map = 100, .access = 1'000, .unmap = 800};
  p.multiprocessors = 4;
  p.clock_khz = 1'000'000;
  p.memory_clock_khz = 1'000'000;
  p.bus_bits = 384;
  p.l2_bytes = 1 * kMiB;
  return p;
}

constexpr std::array kProfiles = {kA100, titan_x(), h200(), test_device()};

// The other machine on which what was learned on one must still hold.
Profile skewed(Profile p) {
  p.link_in_rate *= 0.8;
  p.link_out_rate *= 0.8;
  p.memory_rate *= 1.2;
  p.instruction_rate *= 1.2;
  p.duplex_loss = 0.5;
  p.chunk = {p.chunk.create * 3, p.chunk.release * 3, p.chunk.map * 3, p.chunk.access * 3, p.chunk.unmap * 3};
  return p;
}

}  // namespace

tl::expected<Profile, std::string> find_profile(std::string_view text) {
  const auto comma = text.find(',');
  const std::string_view modifier = comma == text.npos ? "" : text.substr(comma + 1);
  if (comma == text.npos || modifier == "skew") {
    for (const Profile& profile : kProfiles) {
      if (profile.name == text.substr(0, comma)) return modifier.empty() ? profile : skewed(profile);
    }
  }
  return tl::unexpected<std::string>("one of a100, titanx, h200, test, each with ,skew after it or not");
}

Nanoseconds time_for(std::uint64_t amount, double rate) noexcept {
  return static_cast<Nanoseconds>(std::ceil(static_cast<double>(amount) * 1e9 / rate));
}

}  // namespace simgpu
