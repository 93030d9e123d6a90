#include "tests/simgpu/driver/function_attributes.h"

#include "tests/simgpu/driver/device_attributes.h"

namespace simgpu {
namespace {

constexpr int kRegisters = 32;  // The executor has none; any figure of a simple kernel does.

}  // namespace

CUresult get_attribute(const Settings& settings, const FunctionObject& function, CUfunction_attribute attribute,
                       int* value) {
  if (!value) return CUDA_ERROR_INVALID_VALUE;
  const KernelInfo& info = function.kernel->info();
  const int version = settings.compute_major * 10 + settings.compute_minor;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = static_cast<int>(info.max_threads);
      break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *value = static_cast<int>(info.static_shared_bytes);
      break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      *value = static_cast<int>(info.local_bytes);
      break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *value = kRegisters;
      break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *value = version;
      break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = function.max_dynamic_shared;
      break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *value = function.carveout;
      break;
    default:
      if (attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
      *value = 0;
  }
  return CUDA_SUCCESS;
}

CUresult set_attribute(const Settings& settings, FunctionObject& function, CUfunction_attribute attribute, int value) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
      const int room = shared_bytes_opt_in(settings) - static_cast<int>(function.kernel->info().static_shared_bytes);
      if (value < 0 || value > room) return CUDA_ERROR_INVALID_VALUE;
      function.max_dynamic_shared = value;
      return CUDA_SUCCESS;
    }
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      function.carveout = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      return CUDA_ERROR_NOT_SUPPORTED;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult parameter_info(const FunctionObject& function, size_t index, size_t* offset, size_t* bytes) {
  const auto& parameters = function.kernel->info().parameters;
  if (!offset || index >= parameters.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = parameters[index].offset;
  if (bytes) *bytes = parameters[index].bytes;
  return CUDA_SUCCESS;
}

}  // namespace simgpu
