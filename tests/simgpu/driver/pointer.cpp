// cuPointerGetAttribute(s). Sizes of the answers as the header says; MAPPED and IS_MANAGED are four bytes wide.

#include <cuda.h>

#include "tests/simgpu/driver/call.h"

namespace simgpu {
namespace {

struct Pointer {
  std::uint64_t address;
  const Allocation* allocation;
  const VirtualMemory::Mapping* mapping;
  bool host() const {
    return allocation &&
           (allocation->kind == Allocation::Kind::host || allocation->kind == Allocation::Kind::registered_host);
  }
  bool registered() const { return allocation && allocation->kind == Allocation::Kind::registered_host; }
  std::uint64_t base() const { return allocation ? allocation->address : mapping->address; }
  std::uint64_t bytes() const { return allocation ? allocation->bytes : mapping->memory->bytes(); }
};

template <class Value>
CUresult write(void* out, Value value) {
  *static_cast<Value*>(out) = value;
  return CUDA_SUCCESS;
}

CUresult access_flags(const Pointer& pointer, void* out) {
  const Grant grant = pointer.mapping ? pointer.mapping->grant : Grant::read_write;
  return write(out, grant == Grant::none   ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE
                    : grant == Grant::read ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ
                                           : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
}

CUresult describe(const Pointer& pointer, CUpointer_attribute attribute, void* out) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return write(out, reinterpret_cast<CUcontext>(pointer.allocation ? pointer.allocation->context : nullptr));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return write(out, pointer.host() ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return pointer.registered() ? CUDA_ERROR_INVALID_VALUE : write(out, CUdeviceptr{pointer.address});
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return pointer.host() ? write(out, reinterpret_cast<void*>(pointer.address)) : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return write(out, 0);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return write(
          out, static_cast<unsigned long long>(pointer.allocation ? pointer.allocation->id : pointer.mapping->handle));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return write(out, 0);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return write(out, 0);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return write(out, 0);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return write(out, CUdeviceptr{pointer.base()});
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return write(out, size_t{pointer.bytes()});
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return write(out, 1);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return write(out, 0ULL);
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      return write(out, 0);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return access_flags(pointer, out);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return write(out, reinterpret_cast<CUmemoryPool>(pointer.allocation ? pointer.allocation->pool.get() : nullptr));
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      return write(out, 0);
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

// What cuPointerGetAttributes answers for an address that the driver does not know.
void describe_unknown(CUpointer_attribute attribute, void* out) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      write(out, -2);
      break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      write(out, 0);
      break;
    default:
      write(out, std::uint64_t{0});
  }
}

Pointer look_up(Call& call, CUdeviceptr address) {
  call.log_address("address", address);
  return {address, call.device().allocations.find(address), call.device().virtual_memory.find(address)};
}

}  // namespace

extern "C" {

CUresult cuPointerGetAttribute(void* out, CUpointer_attribute attribute, CUdeviceptr address) {
  return api({__func__}, Needs::context, &ApiCosts::call, [&](Call& call) {
    call.log("attribute", static_cast<int>(attribute));
    const Pointer pointer = look_up(call, address);
    if (!out || (!pointer.allocation && !pointer.mapping)) return CUDA_ERROR_INVALID_VALUE;
    return describe(pointer, attribute, out);
  });
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** out, CUdeviceptr address) {
  return api({__func__}, Needs::driver, &ApiCosts::call, [&](Call& call) {
    if (!attributes || !out) return CUDA_ERROR_INVALID_VALUE;
    const Pointer pointer = look_up(call, address);
    for (unsigned i = 0; i < count; ++i) {
      const bool known = pointer.allocation || pointer.mapping;
      if (!known || describe(pointer, attributes[i], out[i]) != CUDA_SUCCESS) describe_unknown(attributes[i], out[i]);
    }
    return CUDA_SUCCESS;
  });
}

// Every synchronous copy waits for the device here: nothing to set.
CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  return api({__func__}, [&](Call& call) {
    const Pointer pointer = look_up(call, address);
    const bool known = pointer.allocation || pointer.mapping;
    return value && known && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

}  // extern "C"
}  // namespace simgpu
