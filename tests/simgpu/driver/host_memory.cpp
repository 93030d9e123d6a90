// Page-locked host memory. It lies in the device's window, at one address for the host and for kernels. Registered
// memory stays where it is: copies treat it as page-locked, kernels cannot reach it.

#include <cuda.h>

#include "tests/simgpu/driver/call.h"

namespace simgpu {
namespace {

CUresult allocate(Call& call, void** out, std::uint64_t bytes, unsigned flags) {
  call.log("bytes", bytes);
  if (!out || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const auto address = call.device().allocations.allocate_host(bytes, flags, &call.context());
  if (!address) return CUDA_ERROR_OUT_OF_MEMORY;
  call.spend(time_for(bytes, call.device().profile.pin_rate));
  call.log_address("address", *address);
  *out = reinterpret_cast<void*>(*address);
  return CUDA_SUCCESS;
}

CUresult register_range(const char* name, void* pointer, size_t bytes, unsigned flags) {
  return api({name}, [&](Call& call) {
    const auto address = reinterpret_cast<std::uint64_t>(pointer);
    call.log("bytes", bytes);
    if (!pointer || bytes == 0 || Window::contains(address)) return CUDA_ERROR_INVALID_VALUE;
    Allocations& allocations = call.device().allocations;
    if (allocations.find(address) || allocations.find(address + bytes - 1)) {
      return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    }
    allocations.register_host(address, bytes, flags, &call.context());
    call.spend(time_for(bytes, call.device().profile.pin_rate));
    return CUDA_SUCCESS;
  });
}

const Allocation* host_allocation(Call& call, const void* pointer) {
  const Allocation* found = call.device().allocations.find(reinterpret_cast<std::uint64_t>(pointer));
  const bool host =
      found && (found->kind == Allocation::Kind::host || found->kind == Allocation::Kind::registered_host);
  return host ? found : nullptr;
}

CUresult release(Call& call, void* pointer, Allocation::Kind kind, CUresult unknown) {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  const Allocation* found = call.device().allocations.at(address);
  if (!found || found->kind != kind) return unknown;
  call.device().synchronize(call.context());
  call.device().free_allocation(address);
  return call.outcome();
}

}  // namespace

extern "C" {

CUresult cuMemHostAlloc(void** out, size_t bytes, unsigned flags) {
  return api({__func__}, Needs::context, &ApiCosts::allocate,
             [&](Call& call) { return allocate(call, out, bytes, flags); });
}

CUresult cuMemAllocHost_v2(void** out, size_t bytes) {
  return api({__func__}, Needs::context, &ApiCosts::allocate,
             [&](Call& call) { return allocate(call, out, bytes, 0); });
}

CUresult cuMemFreeHost(void* pointer) {
  return api({__func__}, Needs::context, &ApiCosts::allocate, [&](Call& call) {
    call.log_address("address", reinterpret_cast<std::uint64_t>(pointer));
    if (!pointer) return CUDA_SUCCESS;
    return release(call, pointer, Allocation::Kind::host, CUDA_ERROR_INVALID_VALUE);
  });
}

CUresult cuMemHostRegister(void* pointer, size_t bytes, unsigned flags) {
  return register_range(__func__, pointer, bytes, flags);
}

CUresult cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned flags) {
  return register_range(__func__, pointer, bytes, flags);
}

CUresult cuMemHostUnregister(void* pointer) {
  return api({__func__}, [&](Call& call) {
    return release(call, pointer, Allocation::Kind::registered_host, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  });
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* out, void* pointer, unsigned flags) {
  return api({__func__}, [&](Call& call) {
    const Allocation* found = host_allocation(call, pointer);
    if (!out || flags != 0 || !found) return CUDA_ERROR_INVALID_VALUE;
    if (found->kind == Allocation::Kind::registered_host) return CUDA_ERROR_NOT_SUPPORTED;
    *out = reinterpret_cast<std::uint64_t>(pointer);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemHostGetFlags(unsigned* flags, void* pointer) {
  return api({__func__}, [&](Call& call) {
    const Allocation* found = host_allocation(call, pointer);
    if (!flags || !found) return CUDA_ERROR_INVALID_VALUE;
    *flags = found->flags;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
}  // namespace simgpu
