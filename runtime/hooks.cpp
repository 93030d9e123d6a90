#include "runtime/hooks.h"

#include <array>

#include "runtime/driver.h"
#include "runtime/lifecycle.h"
#include "runtime/log.h"
#include "runtime/memory_answers.h"
#include "runtime/statistics.h"

namespace tensorpager {
namespace {

// Nothing of ours may unwind into the job. What can throw here is want of host memory.
template <class Body>
CUresult guarded(Body body) noexcept {
  try {
    return body();
  } catch (...) {
    TENSORPAGER_LOG(error, "state", "out of host memory; the call is refused");
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

void count(OpKind kind) noexcept {
  Statistics& counters = statistics();
  switch (kind) {
    case OpKind::launch:
      return counters.launches.add();
    case OpKind::copy:
      return counters.copies.add();
    case OpKind::memset:
      return counters.memsets.add();
    case OpKind::alloc:
      return counters.allocs.add();
    case OpKind::free:
      return counters.frees.add();
    default:
      return;
  }
}

// In the state `observing` the driver allocates and we count.

bool observed_budget_admits(std::size_t bytes) noexcept {
  const DeviceFacts* device = observed_device();
  if (device == nullptr || !settings().budget) return true;
  const std::size_t limit = settings().budget->of(device->total);
  statistics().budget.set(limit);
  const std::size_t taken = statistics().fixed_cost.get() + statistics().tensor_bytes.get();
  if (taken + bytes <= limit) return true;
  statistics().refused_allocs.add();
  TENSORPAGER_LOG(warn, "budget",
                  "out of memory: asked {} KiB, {} of {} MiB taken; policy observe moves nothing. Try policy lru",
                  (bytes + 1023) >> 10, taken >> 20, limit >> 20);
  return false;
}

CUresult observe_alloc(const CUdeviceptr* address, std::size_t bytes, Forward forward) {
  if (!observed_budget_admits(bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = forward();
  if (result != CUDA_SUCCESS) return result;
  passed_through().add(*address, bytes);
  statistics().tensor_added(bytes);
  const DeviceFacts* device = observed_device();
  if (device != nullptr) statistics().device_peak.raise_to(device->used + statistics().tensor_bytes.get());
  return result;
}

CUresult observe_free(CUdeviceptr address, Forward forward) {
  // Counted before: another thread may be given the address as soon as it is free.
  const std::size_t bytes = passed_through().remove(address);
  const CUresult result = forward();
  if (bytes == 0) return result;
  if (result == CUDA_SUCCESS) {
    statistics().tensor_removed(bytes);
  } else {
    passed_through().add(address, bytes);
  }
  return result;
}

// Less than nothing where an unload gave memory back; what other threads allocate meanwhile is counted elsewhere.
CUresult observe_code(Forward forward) {
  std::size_t before = 0;
  std::size_t after = 0;
  std::size_t total = 0;
  if (observed_device() == nullptr) return forward();
  const std::uint64_t tensors = statistics().tensor_bytes.get();
  const bool measured = driver().cuMemGetInfo_v2(&before, &total) == CUDA_SUCCESS;
  const CUresult result = forward();
  if (measured && driver().cuMemGetInfo_v2(&after, &total) == CUDA_SUCCESS) {
    const std::uint64_t code = before - after - (statistics().tensor_bytes.get() - tensors);
    statistics().set_fixed_cost(statistics().fixed_cost.get() + code);
  }
  return result;
}

CUresult pass_alloc(Pager& pager, const CUdeviceptr* address, std::size_t bytes, Forward forward) {
  if (!pager.admit_passed_through(bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = forward();
  if (result != CUDA_SUCCESS) {
    pager.passed_through_freed(bytes);
    return result;
  }
  statistics().passed_through_allocs.add();
  passed_through().add(*address, bytes);
  return result;
}

CUresult pass_free(Pager& pager, CUdeviceptr address, Forward forward) {
  const std::size_t bytes = passed_through().remove(address);
  const CUresult result = forward();
  if (result == CUDA_SUCCESS) {
    pager.passed_through_freed(bytes);
  } else if (bytes > 0) {
    passed_through().add(address, bytes);
  }
  return result;
}

bool primary_is_alive(CUdevice device) {
  unsigned flags = 0;
  int alive = 0;
  return driver().cuDevicePrimaryCtxGetState(device, &flags, &alive) == CUDA_SUCCESS && alive != 0;
}

bool is_primary(const DeviceFacts& facts) {
  CUcontext primary = nullptr;
  if (!primary_is_alive(facts.device)) return false;
  if (driver().cuDevicePrimaryCtxRetain(&primary, facts.device) != CUDA_SUCCESS) return false;
  driver().cuDevicePrimaryCtxRelease_v2(facts.device);
  return primary == facts.context;
}

}  // namespace

CUresult on_launch(CUfunction function, void** params, void** extra, StreamRef stream, Forward forward) noexcept {
  return guarded([&] {
    count(OpKind::launch);
    Pager* const paging = pager();
    return paging != nullptr ? paging->launch(function, params, extra, stream, forward) : forward();
  });
}

CUresult on_copy(OpKind kind, std::initializer_list<CUdeviceptr> addresses, StreamRef stream,
                 Forward forward) noexcept {
  return guarded([&] {
    count(kind);
    Pager* const paging = pager();
    return paging != nullptr ? paging->submit(kind, addresses, stream, false, forward) : forward();
  });
}

CUresult on_copy_list(const CUdeviceptr* const* lists, std::size_t list_count, std::size_t count_each, StreamRef stream,
                      Forward forward) noexcept {
  return guarded([&] {
    count(OpKind::copy);
    Pager* const paging = pager();
    if (paging == nullptr) return forward();
    Words addresses;
    for (std::size_t list = 0; list < list_count; ++list) {
      addresses.insert(addresses.end(), lists[list], lists[list] + count_each);
    }
    return paging->submit(OpKind::copy, {addresses.data(), addresses.size()}, stream, false, forward);
  });
}

CUresult on_pin(std::initializer_list<CUdeviceptr> addresses, StreamRef stream, Forward forward) noexcept {
  return guarded([&] {
    Pager* const paging = pager();
    return paging != nullptr ? paging->submit(OpKind::wait, addresses, stream, true, forward) : forward();
  });
}

void note_host_wait() noexcept {
  if (Pager* const paging = pager()) paging->streams().note_host_wait();
}

CUresult on_pin_list(const CUdeviceptr* addresses, std::size_t count, StreamRef stream, Forward forward) noexcept {
  return guarded([&] {
    Pager* const paging = pager();
    return paging != nullptr ? paging->submit(OpKind::wait, {addresses, count}, stream, true, forward) : forward();
  });
}

CUresult on_pin_launch(CUfunction function, void** params, void** extra, Forward forward) noexcept {
  return guarded([&] {
    Pager* const paging = pager();
    return paging != nullptr ? paging->pin_launch(function, params, extra, forward) : forward();
  });
}

CUresult on_alloc_async(CUdeviceptr* address, std::size_t bytes, CUmemoryPool pool, StreamRef stream,
                        Forward forward) noexcept {
  return guarded([&] {
    count(OpKind::alloc);
    Pager* const paging = pager();
    if (paging == nullptr) return observe_alloc(address, bytes, forward);
    if (!paging->covers_current_device()) return forward();
    if (const CUresult result = paging->streams().check(stream); result != CUDA_SUCCESS) return result;
    const bool ours = pool == nullptr || pool == paging->facts().default_pool;
    const StreamId id = paging->streams().find(stream);
    // An allocation in a capture is a node of the graph, with an address of its own.
    if (!ours || paging->capturing(id)) return pass_alloc(*paging, address, bytes, forward);
    return paging->allocator().allocate(address, bytes, id);
  });
}

CUresult on_free_async(CUdeviceptr address, StreamRef stream, Forward forward) noexcept {
  return guarded([&] {
    count(OpKind::free);
    Pager* const paging = pager();
    if (paging == nullptr) return observe_free(address, forward);
    if (!paging->owns(address)) return pass_free(*paging, address, forward);
    if (const CUresult result = paging->streams().check(stream); result != CUDA_SUCCESS) return result;
    const StreamId id = paging->streams().find(stream);
    if (paging->capturing(id)) {
      TENSORPAGER_LOG(warn, "capture", "a capture frees memory that was allocated before it: not supported");
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return paging->allocator().free(address, id);
  });
}

CUresult on_plain_alloc(const CUdeviceptr* address, std::size_t bytes, Forward forward) noexcept {
  return guarded([&] {
    count(OpKind::alloc);
    Pager* const paging = pager();
    if (paging == nullptr) return observe_alloc(address, bytes, forward);
    return paging->covers_current_device() ? pass_alloc(*paging, address, bytes, forward) : forward();
  });
}

CUresult on_plain_free(CUdeviceptr address, Forward forward) noexcept {
  return guarded([&] {
    count(OpKind::free);
    Pager* const paging = pager();
    if (paging == nullptr) return observe_free(address, forward);
    return paging->owns(address) ? paging->allocator().free_synchronously(address)
                                 : pass_free(*paging, address, forward);
  });
}

CUresult on_mem_get_info(std::size_t* free_bytes, std::size_t* total_bytes, Forward forward) noexcept {
  return guarded([&] {
    const CUresult result = forward();
    if (result != CUDA_SUCCESS || !settings().budget) return result;
    const auto answer = [&](std::size_t free, std::size_t total) {
      if (free_bytes != nullptr) *free_bytes = free;
      if (total_bytes != nullptr) *total_bytes = total;
    };
    if (Pager* const paging = pager()) {
      if (!paging->covers_current_device()) return result;
      answer(paging->allocator().free_bytes(), paging->budget());
    } else if (const DeviceFacts* device = observed_device()) {
      const std::size_t total = std::min<std::size_t>(settings().budget->of(device->total), device->total);
      const std::size_t taken = statistics().fixed_cost.get() + statistics().tensor_bytes.get();
      answer(total > taken ? total - taken : 0, total);
    }
    return result;
  });
}

CUresult on_address_range(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address, Forward forward) noexcept {
  return guarded([&] {
    Pager* const paging = pager();
    if (paging == nullptr || !paging->owns(address)) return forward();
    return answer_address_range(*paging, base, bytes, address);
  });
}

CUresult on_pointer_attribute(void* data, CUpointer_attribute attribute, CUdeviceptr address,
                              Forward forward) noexcept {
  return guarded([&] {
    Pager* const paging = pager();
    if (paging == nullptr || !paging->owns(address)) return forward();
    return answer_pointer_attribute(*paging, data, attribute, address);
  });
}

CUresult on_pointer_attributes(unsigned count, CUpointer_attribute* attributes, void** data, CUdeviceptr address,
                               Forward forward) noexcept {
  return guarded([&] {
    Pager* const paging = pager();
    if (paging == nullptr || !paging->owns(address)) return forward();
    if (count == 0 || attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    // Unlike the single question, this one succeeds for attributes that the address does not have, and gives null.
    for (unsigned i = 0; i < count; ++i) {
      if (answer_pointer_attribute(*paging, data[i], attributes[i], address) == CUDA_SUCCESS) continue;
      const bool pointer = attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER && data[i] != nullptr;
      if (pointer) *static_cast<void**>(data[i]) = nullptr;
    }
    return CUDA_SUCCESS;
  });
}

CUresult on_code_load(Forward forward) noexcept {
  return guarded([&] {
    Pager* const paging = pager();
    if (paging == nullptr) return observe_code(forward);
    return paging->covers_current_device() ? paging->measure_code(Pager::CodeChange::load, forward) : forward();
  });
}

CUresult on_code_unload(Forward forward) noexcept {
  return guarded([&] {
    Pager* const paging = pager();
    if (paging == nullptr) return observe_code(forward);
    paging->kernels().forget();
    return paging->measure_code(Pager::CodeChange::unload, forward);
  });
}

CUresult on_kernels(const CUkernel* kernels, const unsigned* count, Forward forward) noexcept {
  return guarded([&] {
    const CUresult result = forward();
    Pager* const paging = pager();
    if (result == CUDA_SUCCESS && paging != nullptr) paging->kernels().note_kernels(kernels, *count);
    return result;
  });
}

CUresult on_stream_destroy(CUstream stream, Forward forward) noexcept {
  return guarded([&] {
    Pager* const paging = pager();
    const CUresult result = paging != nullptr ? paging->streams().retire(stream) : CUDA_SUCCESS;
    return result == CUDA_SUCCESS ? forward() : result;
  });
}

CUresult on_host_function(StreamRef stream, Forward forward) noexcept {
  return guarded([&] {
    note_host_wait();
    Pager* const paging = pager();
    if (paging == nullptr || paging->streams().check(stream) != CUDA_SUCCESS) return forward();
    StreamTable& streams = paging->streams();
    const StreamId id = streams.find(stream);
    streams.note_host_function(id);
    const CUresult result = paging->submit(OpKind::wait, {}, stream, false, forward);
    if (result == CUDA_SUCCESS && !paging->capturing(id)) streams.watch_host_function(id);
    return result;
  });
}

CUresult on_begin_capture(StreamRef, Forward forward) noexcept {
  return guarded([&] {
    Pager* const paging = pager();
    if (paging == nullptr) return forward();
    paging->streams().record_all();
    paging->begin_capture();
    const CUresult result = forward();
    if (result != CUDA_SUCCESS) paging->end_capture();
    return result;
  });
}

CUresult on_end_capture(StreamRef stream, Forward forward) noexcept {
  return guarded([&] {
    Pager* const paging = pager();
    if (paging == nullptr || paging->streams().check(stream) != CUDA_SUCCESS) return forward();
    const StreamId id = paging->streams().find(stream);
    const bool before = paging->capturing(id);
    const CUresult result = forward();
    // A call on the wrong stream ends nothing; one that fails may be the end all the same, of a broken capture.
    if (before && !paging->capturing(id)) paging->end_capture();
    return result;
  });
}

CUresult on_synchronize(Forward forward) noexcept {
  return forward();
}

CUresult on_graph_launch(StreamRef stream, Forward forward) noexcept {
  return guarded([&] {
    Pager* const paging = pager();
    return paging != nullptr ? paging->submit(OpKind::graph_launch, {}, stream, false, forward) : forward();
  });
}

CUresult on_context_gone(CUcontext destroyed, Forward forward) noexcept {
  return guarded([&] {
    const DeviceFacts* const facts = known_device();
    const bool meant = facts != nullptr && (destroyed != nullptr ? destroyed == facts->context : is_primary(*facts));
    const CUresult result = forward();
    if (result != CUDA_SUCCESS || !meant) return result;
    // A release of the primary context may not be the last.
    if (destroyed == nullptr && primary_is_alive(facts->device)) return result;
    passed_through().clear();
    statistics().tensor_bytes.set(0);
    forget_device();
    return result;
  });
}

}  // namespace tensorpager
