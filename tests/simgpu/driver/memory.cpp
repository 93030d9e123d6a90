// Plain device memory and questions about memory.

#include <cuda.h>

#include "tests/simgpu/driver/call.h"

namespace simgpu {
namespace {

constexpr std::uint64_t kPitch = 512;

// A plain allocation waits for the device, as cudaMalloc does; programs rely on it.
CUresult allocate(Call& call, CUdeviceptr* out, std::uint64_t bytes) {
  if (!out || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  Device& device = call.device();
  device.synchronize(call.context());
  if (call.outcome() != CUDA_SUCCESS) return call.outcome();
  const auto address = device.allocations.allocate(bytes, &call.context());
  if (!address) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::uint64_t granules = device.segments.rounded(bytes) / device.profile.granularity;
  call.spend(granules * device.profile.per_granule_allocated);
  call.log_address("address", *address);
  *out = *address;
  return CUDA_SUCCESS;
}

// A pool block that is freed so is free at once, without a wait: the driver takes the program's word that its use is
// over.
CUresult release(Call& call, CUdeviceptr address) {
  if (address == 0) return CUDA_SUCCESS;
  Device& device = call.device();
  const Allocation* allocation = device.allocations.at(address);
  if (!allocation || allocation->kind == Allocation::Kind::host ||
      allocation->kind == Allocation::Kind::registered_host) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (allocation->kind == Allocation::Kind::device) device.synchronize(call.context());
  device.free_allocation(address);
  return call.outcome();
}

}  // namespace

extern "C" {

CUresult cuMemAlloc_v2(CUdeviceptr* out, size_t bytes) {
  return api({__func__}, Needs::context, &ApiCosts::allocate, [&](Call& call) {
    call.log("bytes", bytes);
    return allocate(call, out, bytes);
  });
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* out, size_t* pitch, size_t width, size_t height, unsigned element_bytes) {
  return api({__func__}, Needs::context, &ApiCosts::allocate, [&](Call& call) {
    if (!pitch || (element_bytes != 4 && element_bytes != 8 && element_bytes != 16)) return CUDA_ERROR_INVALID_VALUE;
    *pitch = round_up(width, kPitch);
    call.log("bytes", *pitch * height);
    return allocate(call, out, *pitch * height);
  });
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  return api({__func__}, Needs::context, &ApiCosts::allocate, [&](Call& call) {
    call.log_address("address", address);
    return release(call, address);
  });
}

CUresult cuMemAllocManaged(CUdeviceptr*, size_t bytes, unsigned) {
  return api({__func__}, [&](Call& call) {
    call.log("bytes", bytes);
    return CUDA_ERROR_NOT_SUPPORTED;
  });
}

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  return api({__func__}, Needs::context, &ApiCosts::memory_info, [&](Call& call) {
    const Capacity& capacity = call.device().capacity;
    if (free) *free = capacity.total() - capacity.used();
    if (total) *total = capacity.total();
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
  return api({__func__}, [&](Call& call) {
    call.log_address("address", address);
    const Allocation* allocation = call.device().allocations.find(address);
    const VirtualMemory::Mapping* mapping = call.device().virtual_memory.find(address);
    if (!allocation && !mapping) return CUDA_ERROR_NOT_FOUND;
    if (base) *base = allocation ? allocation->address : mapping->address;
    if (bytes) *bytes = allocation ? allocation->bytes : mapping->memory->bytes();
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
}  // namespace simgpu
