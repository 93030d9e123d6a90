#include "runtime/memory_answers.h"

namespace tensorpager {
namespace {

template <class Value>
CUresult put(void* data, Value value) noexcept {
  *static_cast<Value*>(data) = value;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult answer_pointer_attribute(Pager& pager, void* data, CUpointer_attribute attribute,
                                  CUdeviceptr address) noexcept {
  const auto found = pager.allocator().find(address);
  if (!found || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const DeviceFacts& facts = pager.facts();
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return put(data, facts.context);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return put<unsigned>(data, CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return put(data, address);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return put<unsigned long long>(data, found->id);
    // Booleans are written as four bytes; a single one would leave garbage beside it.
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      return put<unsigned>(data, 0);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return put<unsigned>(data, 1);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put<int>(data, facts.device);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return put(data, found->address);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return put<std::size_t>(data, found->bytes);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return put<unsigned long long>(data, 0);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return put<unsigned>(data, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return put(data, facts.default_pool);
    default:
      return CUDA_ERROR_INVALID_VALUE;  // host pointers, peer-to-peer tokens
  }
}

CUresult answer_address_range(Pager& pager, CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address) noexcept {
  const auto found = pager.allocator().find(address);
  if (!found) return CUDA_ERROR_NOT_FOUND;
  if (base != nullptr) *base = found->address;
  if (bytes != nullptr) *bytes = found->bytes;
  return CUDA_SUCCESS;
}

}  // namespace tensorpager
