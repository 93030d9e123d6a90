// Stream-ordered allocation and its pools.

#include <cuda.h>

#include "tests/simgpu/driver/call.h"

namespace simgpu {
namespace {

CUmemoryPool handle_of(const MemoryPool* pool) {
  return reinterpret_cast<CUmemoryPool>(const_cast<MemoryPool*>(pool));
}

tl::expected<Cost, Fault> nothing() {
  return Cost{};
}

CUresult allocate(Call& call, CUdeviceptr* out, size_t bytes, std::shared_ptr<MemoryPool> pool, CUstream handle) {
  call.log("bytes", bytes);
  Stream* const stream = call.stream(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  if (!out || !pool || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  Device& device = call.device();
  const auto block = pool->allocate(device.scheduler, *stream, bytes);
  if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
  call.spend(block->grown / device.profile.granularity * device.profile.per_granule_allocated);
  device.scheduler.submit(*stream, {OpKind::allocate, Engine::none, nothing, block->after});
  device.allocations.add_pool_block(block->address, bytes, std::move(pool), &call.context());
  call.log_address("address", block->address);
  *out = block->address;
  return CUDA_SUCCESS;
}

CUresult allocate_async(Entry entry, CUdeviceptr* out, size_t bytes, CUstream stream) {
  return api(entry, Needs::context, &ApiCosts::pool,
             [&](Call& call) { return allocate(call, out, bytes, call.device().current_pool, stream); });
}

CUresult allocate_from_pool(Entry entry, CUdeviceptr* out, size_t bytes, CUmemoryPool pool, CUstream stream) {
  return api(entry, Needs::context, &ApiCosts::pool,
             [&](Call& call) { return allocate(call, out, bytes, call.driver().pools.find(pool), stream); });
}

CUresult free_async(Entry entry, CUdeviceptr address, CUstream handle) {
  return api(entry, Needs::context, &ApiCosts::pool, [&](Call& call) {
    call.log_address("address", address);
    Stream* const stream = call.stream(handle);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    Device& device = call.device();
    const Allocation* allocation = device.allocations.at(address);
    if (!allocation || allocation->kind != Allocation::Kind::pool) return CUDA_ERROR_INVALID_VALUE;
    // The op holds the pool, so that a destroyed pool's memory goes no earlier than its last free has run.
    const auto pool = allocation->pool;
    device.allocations.remove(address);
    const OpRef op = device.scheduler.submit(*stream, {OpKind::free, Engine::none, [pool] { return nothing(); }});
    pool->free(address, op);
    return CUDA_SUCCESS;
  });
}

template <class Body>
CUresult with_pool(const char* name, CUmemoryPool handle, Body body) {
  return api({name}, Needs::driver, &ApiCosts::call, [&](Call& call) {
    const auto pool = call.driver().pools.find(handle);
    return pool ? body(call, *pool) : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult set_attribute(MemoryPool& pool, CUmemPool_attribute attribute, void* value) {
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      pool.policy.follow_events = *static_cast<int*>(value) != 0;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
      pool.policy.opportunistic = *static_cast<int*>(value) != 0;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      pool.policy.internal_dependencies = *static_cast<int*>(value) != 0;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      pool.policy.release_threshold = *static_cast<cuuint64_t*>(value);
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: {
      // The header: the mark can only be reset to zero; it then stands at what is current.
      if (*static_cast<cuuint64_t*>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
      if (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH) pool.marks.used_high = pool.used();
      if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) pool.marks.reserved_high = pool.reserved();
      return CUDA_SUCCESS;
    }
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult get_attribute(const MemoryPool& pool, CUmemPool_attribute attribute, void* value) {
  const auto flag = [&](bool set) { *static_cast<int*>(value) = set; };
  const auto number = [&](std::uint64_t amount) { *static_cast<cuuint64_t*>(value) = amount; };
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      flag(pool.policy.follow_events);
      break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
      flag(pool.policy.opportunistic);
      break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      flag(pool.policy.internal_dependencies);
      break;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      number(pool.policy.release_threshold);
      break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      number(pool.reserved());
      break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      number(pool.marks.reserved_high);
      break;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      number(pool.used());
      break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      number(pool.marks.used_high);
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult pool_of_device(const char* name, CUmemoryPool* out, CUdevice device,
                        std::shared_ptr<MemoryPool> Device::*which) {
  return api({name}, Needs::driver, &ApiCosts::call, [&](Call& call) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    *out = handle_of((call.device().*which).get());
    return CUDA_SUCCESS;
  });
}

CUresult pool_of_location(const char* name, CUmemoryPool* out, const CUmemLocation* location, CUmemAllocationType type,
                          std::shared_ptr<MemoryPool> Device::*which) {
  const bool device =
      location && location->type == CU_MEM_LOCATION_TYPE_DEVICE && type == CU_MEM_ALLOCATION_TYPE_PINNED;
  if (!device) return api({name}, Needs::driver, &ApiCosts::call, [](Call&) { return CUDA_ERROR_NOT_SUPPORTED; });
  return pool_of_device(name, out, location->id, which);
}

CUresult set_current(const char* name, CUdevice device, CUmemoryPool handle) {
  return api({name}, Needs::driver, &ApiCosts::call, [&](Call& call) {
    const auto pool = call.driver().pools.find(handle);
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    if (!pool) return CUDA_ERROR_INVALID_VALUE;
    call.device().current_pool = pool;
    return CUDA_SUCCESS;
  });
}

}  // namespace

extern "C" {

SIMGPU_BOTH(cuMemAllocAsync, _ptsz, allocate_async, (CUdeviceptr * out, size_t bytes, CUstream stream), out, bytes,
            stream)
SIMGPU_BOTH(cuMemAllocFromPoolAsync, _ptsz, allocate_from_pool,
            (CUdeviceptr * out, size_t bytes, CUmemoryPool pool, CUstream stream), out, bytes, pool, stream)
SIMGPU_BOTH(cuMemFreeAsync, _ptsz, free_async, (CUdeviceptr address, CUstream stream), address, stream)

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* out, CUdevice device) {
  return pool_of_device(__func__, out, device, &Device::default_pool);
}
CUresult cuDeviceGetMemPool(CUmemoryPool* out, CUdevice device) {
  return pool_of_device(__func__, out, device, &Device::current_pool);
}
CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  return set_current(__func__, device, pool);
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool* out, CUmemLocation* location, CUmemAllocationType type) {
  return pool_of_location(__func__, out, location, type, &Device::default_pool);
}
CUresult cuMemGetMemPool(CUmemoryPool* out, CUmemLocation* location, CUmemAllocationType type) {
  return pool_of_location(__func__, out, location, type, &Device::current_pool);
}
CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType, CUmemoryPool pool) {
  const bool device = location && location->type == CU_MEM_LOCATION_TYPE_DEVICE;
  return set_current(__func__, device ? location->id : -1, pool);
}

CUresult cuMemPoolCreate(CUmemoryPool* out, const CUmemPoolProps* props) {
  return api({__func__}, Needs::driver, &ApiCosts::call, [&](Call& call) {
    if (!out || !props || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
    const bool plain =
        props->location.type == CU_MEM_LOCATION_TYPE_DEVICE && props->handleTypes == CU_MEM_HANDLE_TYPE_NONE;
    if (!plain) return CUDA_ERROR_NOT_SUPPORTED;
    if (props->location.id != 0) return CUDA_ERROR_INVALID_DEVICE;
    auto pool = std::make_shared<MemoryPool>(call.device().segments, props->maxSize);
    call.device().pools.push_back(pool);
    *out = call.driver().pools.add<CUmemoryPool>(std::move(pool));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  return with_pool(__func__, handle, [&](Call& call, MemoryPool& pool) {
    Device& device = call.device();
    if (&pool == device.default_pool.get()) return CUDA_ERROR_INVALID_VALUE;
    if (&pool == device.current_pool.get()) device.current_pool = device.default_pool;
    call.driver().pools.remove(handle);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t keep) {
  return with_pool(__func__, handle, [&](Call& call, MemoryPool& pool) {
    call.log("bytes", keep);
    pool.trim(call.device().scheduler, keep);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  return with_pool(__func__, handle, [&](Call& call, MemoryPool& pool) {
    call.log("attribute", static_cast<int>(attribute));
    return value ? set_attribute(pool, attribute, value) : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  return with_pool(__func__, handle, [&](Call& call, MemoryPool& pool) {
    call.log("attribute", static_cast<int>(attribute));
    return value ? get_attribute(pool, attribute, value) : CUDA_ERROR_INVALID_VALUE;
  });
}

// The one device always has access to its own pools, and there is no other.
CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc* map, size_t count) {
  return with_pool(__func__, handle, [&](Call&, MemoryPool&) {
    for (size_t i = 0; i < count; ++i) {
      if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || map[i].location.id != 0)
        return CUDA_ERROR_INVALID_DEVICE;
      if (map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool handle, CUmemLocation* location) {
  return with_pool(__func__, handle, [&](Call&, MemoryPool&) {
    if (!flags || !location) return CUDA_ERROR_INVALID_VALUE;
    *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
}  // namespace simgpu
