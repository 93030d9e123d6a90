#include "tests/simgpu/device/device.h"

#include <fmt/format.h>

namespace simgpu {

Device::Device(const Settings& the_settings, HostClock& the_clock, Statistics& the_statistics, std::mutex& lock)
    : settings(the_settings),
      profile(the_settings.profile),
      clock(the_clock),
      statistics(the_statistics),
      capacity(profile.capacity),
      store("simgpu-device", profile.capacity),
      segments(window, capacity, store, profile.granularity),
      allocations(window, segments, profile.host_memory),
      virtual_memory(window, capacity, store, profile.granularity),
      scheduler(clock, profile, settings.seed, lock,
                {[this](const Op& op) { count(op); },
                 [this](const Op& op, const Fault& fault) {
                   count(op);
                   statistics.violation(
                       fmt::format("{} {} of stream {}: {}", name_of(op.kind), op.index, op.stream, fault.detail));
                 }}),
      default_pool(std::make_shared<MemoryPool>(segments, 0)),
      current_pool(default_pool),
      pools{default_pool} {}

bool Device::activate(Context& context) {
  if (!capacity.charge(profile.context_bytes)) return false;
  statistics.context_bytes.add(profile.context_bytes);
  context.active = true;
  context.error = CUDA_SUCCESS;
  context.ordinal = next_context++;
  context.legacy = std::make_shared<Stream>(Stream{.ordinal = next_stream++, .context = &context, .legacy = true});
  return true;
}

StreamRef Device::add_stream(Context& context) {
  auto stream = std::make_shared<Stream>(Stream{.ordinal = next_stream++, .context = &context});
  context.streams.push_back(stream);
  return stream;
}

StreamRef Device::per_thread_stream(Context& context, std::uint32_t thread) {
  StreamRef& stream = context.per_thread[thread];
  if (!stream) {
    stream = std::make_shared<Stream>(Stream{.ordinal = next_stream++, .context = &context, .per_thread = true});
  }
  return stream;
}

void Device::synchronize(Context& context) {
  scheduler.wait_for_context(context);
  trim_pools();
}

void Device::trim_pools() {
  std::erase_if(pools, [&](const std::weak_ptr<MemoryPool>& weak) {
    const auto pool = weak.lock();
    if (pool) pool->trim(scheduler, pool->policy.release_threshold);
    return !pool;
  });
}

void Device::deactivate(Context& context) {
  scheduler.wait_for_context(context);
  for (const std::uint64_t address : allocations.of_context(&context)) free_allocation(address);
  context.streams.clear();
  context.per_thread.clear();
  context.active = false;
  capacity.discharge(profile.context_bytes);
  statistics.context_bytes.subtract(profile.context_bytes);
  trim_pools();
}

Place Device::place_of(std::uint64_t address) const {
  const Allocation* allocation = allocations.find(address);
  if (allocation &&
      (allocation->kind == Allocation::Kind::host || allocation->kind == Allocation::Kind::registered_host)) {
    return Place::locked;
  }
  return Window::contains(address) ? Place::device : Place::pageable;
}

OpRef Device::submit_copy(Stream& stream, Copy copy) {
  std::shared_ptr<std::vector<std::byte>> staged;
  if (copy.from.place == Place::pageable && copy.to.place == Place::device) {
    clock.spend(time_for(copy.shape.bytes(), profile.staging_rate));
    staged = std::make_shared<std::vector<std::byte>>(copy.stage());
  }
  return scheduler.submit(stream, {copy.kind(), copy.engine(), [this, copy, staged]() -> tl::expected<Cost, Fault> {
                                     if (auto done = copy.run(window); !done) return tl::unexpected(done.error());
                                     if (copy.kind() == OpKind::copy_in) statistics.bytes_in += copy.shape.bytes();
                                     if (copy.kind() == OpKind::copy_out) statistics.bytes_out += copy.shape.bytes();
                                     return copy.cost(profile);
                                   }});
}

OpRef Device::submit_fill(Stream& stream, const Fill& fill) {
  return scheduler.submit(stream, {OpKind::memset, Engine::compute, [this, fill]() -> tl::expected<Cost, Fault> {
                                     if (auto done = fill.run(window); !done) return tl::unexpected(done.error());
                                     return fill.cost(profile);
                                   }});
}

void Device::free_allocation(std::uint64_t address) {
  const Allocation allocation = *allocations.at(address);
  allocations.remove(address);
  if (allocation.kind == Allocation::Kind::pool) allocation.pool->free(address, nullptr);
}

}  // namespace simgpu
