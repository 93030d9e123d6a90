// Virtual memory management. Each chunk costs what the profile says; nothing waits for the device.

#include "tests/simgpu/device/virtual_memory.h"

#include <cuda.h>

#include "tests/simgpu/driver/call.h"

namespace simgpu {
namespace {

std::uint64_t chunks(Call& call, std::uint64_t bytes) {
  return bytes / call.device().profile.granularity;
}

void spend_chunks(Call& call, std::uint64_t bytes, Nanoseconds MapCosts::*cost) {
  call.spend(chunks(call, bytes) * (call.device().profile.chunk.*cost));
}

CUresult result_of(const Done& done) {
  return done ? CUDA_SUCCESS : done.error();
}

template <class Value, class Out>
CUresult give(const tl::expected<Value, CUresult>& value, Out* out) {
  if (!value) return value.error();
  *out = *value;
  return CUDA_SUCCESS;
}

CUresult check(const CUmemAllocationProp* prop) {
  if (!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  return prop->location.id == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

tl::expected<Grant, CUresult> grant_of(const CUmemAccessDesc& access) {
  if (access.location.type != CU_MEM_LOCATION_TYPE_DEVICE) return tl::unexpected(CUDA_ERROR_NOT_SUPPORTED);
  if (access.location.id != 0) return tl::unexpected(CUDA_ERROR_INVALID_DEVICE);
  switch (access.flags) {
    case CU_MEM_ACCESS_FLAGS_PROT_NONE:
      return Grant::none;
    case CU_MEM_ACCESS_FLAGS_PROT_READ:
      return Grant::read;
    case CU_MEM_ACCESS_FLAGS_PROT_READWRITE:
      return Grant::read_write;
    default:
      return tl::unexpected(CUDA_ERROR_INVALID_VALUE);
  }
}

CUmemAllocationProp device_property() {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  return prop;
}

}  // namespace

extern "C" {

CUresult cuMemGetAllocationGranularity(size_t* out, const CUmemAllocationProp* prop, CUmemAllocationGranularity_flags) {
  return api({__func__}, Needs::driver, &ApiCosts::call, [&](Call& call) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    *out = call.device().profile.granularity;
    return check(prop);
  });
}

CUresult cuMemAddressReserve(CUdeviceptr* out, size_t bytes, size_t alignment, CUdeviceptr hint,
                             unsigned long long flags) {
  return api({__func__}, Needs::driver, &ApiCosts::reserve, [&](Call& call) {
    call.log("bytes", bytes);
    if (!out || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    const auto address = call.device().virtual_memory.reserve(bytes, alignment, hint);
    if (address) call.log_address("address", *address);
    return give(address, out);
  });
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  return api({__func__}, Needs::driver, &ApiCosts::call, [&](Call& call) {
    call.log_address("address", address);
    call.log("bytes", bytes);
    return result_of(call.device().virtual_memory.free(address, bytes));
  });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* out, size_t bytes, const CUmemAllocationProp* prop,
                     unsigned long long flags) {
  return api({__func__}, Needs::driver, &ApiCosts::none, [&](Call& call) {
    call.log("bytes", bytes);
    if (!out || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult checked = check(prop); checked != CUDA_SUCCESS) return checked;
    if (prop->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_NOT_SUPPORTED;
    spend_chunks(call, bytes, &MapCosts::create);
    const auto handle = call.device().virtual_memory.create(bytes);
    if (handle) call.log("handle", *handle);
    return give(handle, out);
  });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return api({__func__}, Needs::driver, &ApiCosts::none, [&](Call& call) {
    call.log("handle", handle);
    call.spend(call.device().profile.chunk.release);
    return result_of(call.device().virtual_memory.release(handle));
  });
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  return api({__func__}, Needs::driver, &ApiCosts::none, [&](Call& call) {
    call.log_address("address", address);
    call.log("bytes", bytes);
    call.log("handle", handle);
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    spend_chunks(call, bytes, &MapCosts::map);
    const Done done = call.device().virtual_memory.map(address, bytes, offset, handle);
    if (done) ++call.driver().statistics.maps;
    return result_of(done);
  });
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* access, size_t count) {
  return api({__func__}, Needs::driver, &ApiCosts::none, [&](Call& call) {
    call.log_address("address", address);
    call.log("bytes", bytes);
    if (!access || count == 0) return CUDA_ERROR_INVALID_VALUE;
    spend_chunks(call, bytes, &MapCosts::access);
    for (size_t i = 0; i < count; ++i) {
      const auto grant = grant_of(access[i]);
      if (!grant) return grant.error();
      if (const Done done = call.device().virtual_memory.set_access(address, bytes, *grant); !done) return done.error();
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  return api({__func__}, Needs::driver, &ApiCosts::none, [&](Call& call) {
    call.log_address("address", address);
    call.log("bytes", bytes);
    spend_chunks(call, bytes, &MapCosts::unmap);
    VirtualMemory& memory = call.device().virtual_memory;
    const std::size_t before = memory.mappings();
    const Done done = memory.unmap(address, bytes);
    call.driver().statistics.unmaps += before - memory.mappings();
    return result_of(done);
  });
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* out, void* address) {
  return api({__func__}, Needs::driver, &ApiCosts::call, [&](Call& call) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    return give(call.device().virtual_memory.retain(reinterpret_cast<std::uint64_t>(address)), out);
  });
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* prop, CUmemGenericAllocationHandle handle) {
  return api({__func__}, Needs::driver, &ApiCosts::call, [&](Call& call) {
    if (!prop || !call.device().virtual_memory.knows(handle)) return CUDA_ERROR_INVALID_VALUE;
    *prop = device_property();
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address) {
  return api({__func__}, Needs::driver, &ApiCosts::call, [&](Call& call) {
    const auto* mapping = call.device().virtual_memory.find(address);
    if (!flags || !location || !mapping) return CUDA_ERROR_INVALID_VALUE;
    *flags = mapping->grant == Grant::none   ? CU_MEM_ACCESS_FLAGS_PROT_NONE
             : mapping->grant == Grant::read ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                             : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
}  // namespace simgpu
