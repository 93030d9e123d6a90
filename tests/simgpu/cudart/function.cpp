#include <cuda_runtime_api.h>

#include "tests/simgpu/cudart/context.h"
#include "tests/simgpu/cudart/registry.h"

using namespace simgpu::cudart;

namespace {

/// `body` gets the kernel behind a host function.
template <typename Body>
cudaError_t with_kernel(const void* function, Body body) {
  return with_context([&] {
    CUkernel kernel = nullptr;
    if (const cudaError_t error = find_kernel(function, kernel); error != cudaSuccess) return error;
    return from_driver(body(kernel));
  });
}

int attribute(CUkernel kernel, CUfunction_attribute name, CUresult& result) {
  int value = 0;
  if (result == CUDA_SUCCESS) result = driver().cuKernelGetAttribute(&value, name, kernel, current_device());
  return value;
}

CUresult read_attributes(CUkernel kernel, cudaFuncAttributes& out) {
  CUresult result = CUDA_SUCCESS;
  const auto get = [&](CUfunction_attribute name) { return attribute(kernel, name, result); };
  out = {};
  out.sharedSizeBytes = static_cast<size_t>(get(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  out.constSizeBytes = static_cast<size_t>(get(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES));
  out.localSizeBytes = static_cast<size_t>(get(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
  out.maxThreadsPerBlock = get(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  out.numRegs = get(CU_FUNC_ATTRIBUTE_NUM_REGS);
  out.ptxVersion = get(CU_FUNC_ATTRIBUTE_PTX_VERSION);
  out.binaryVersion = get(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  out.cacheModeCA = get(CU_FUNC_ATTRIBUTE_CACHE_MODE_CA);
  out.maxDynamicSharedSizeBytes = get(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  out.preferredShmemCarveout = get(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
  return result;
}

}  // namespace

extern "C" {

cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  return with_kernel(function, [&](CUkernel found) {
    *kernel = found;
    return CUDA_SUCCESS;
  });
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* out, const void* function) {
  return with_kernel(function, [&](CUkernel kernel) { return driver().cuKernelGetFunction(out, kernel); });
}

cudaError_t cudaFuncGetName(const char** name, const void* function) {
  return with_kernel(function, [&](CUkernel kernel) { return driver().cuKernelGetName(name, kernel); });
}

cudaError_t cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset, size_t* bytes) {
  return with_kernel(function,
                     [&](CUkernel kernel) { return driver().cuKernelGetParamInfo(kernel, index, offset, bytes); });
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  return with_kernel(function, [&](CUkernel kernel) { return read_attributes(kernel, *attributes); });
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute name, int value) {
  return with_kernel(function, [&](CUkernel kernel) {
    return driver().cuKernelSetAttribute(static_cast<CUfunction_attribute>(name), value, kernel, current_device());
  });
}

cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache config) {
  return with_kernel(function, [&](CUkernel kernel) {
    return driver().cuKernelSetCacheConfig(kernel, static_cast<CUfunc_cache>(config), current_device());
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function, int block_size,
                                                                   size_t dynamic_shared_bytes, unsigned flags) {
  return with_kernel(function, [&](CUkernel kernel) {
    return driver().cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, reinterpret_cast<CUfunction>(kernel),
                                                                         block_size, dynamic_shared_bytes, flags);
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int block_size,
                                                          size_t dynamic_shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_size, dynamic_shared_bytes, 0);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* function, int blocks, int block_size) {
  return with_kernel(function, [&](CUkernel kernel) {
    return driver().cuOccupancyAvailableDynamicSMemPerBlock(bytes, reinterpret_cast<CUfunction>(kernel), blocks,
                                                            block_size);
  });
}
}
