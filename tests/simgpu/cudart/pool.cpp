#include <cuda_runtime_api.h>

#include "tests/simgpu/cudart/context.h"

using namespace simgpu::cudart;

// The runtime's attribute numbers, properties and access descriptors are the driver's.
static_assert(sizeof(cudaMemPoolProps) == sizeof(CUmemPoolProps));
static_assert(sizeof(cudaMemAccessDesc) == sizeof(CUmemAccessDesc));
static_assert(static_cast<int>(cudaMemPoolAttrUsedMemHigh) == static_cast<int>(CU_MEMPOOL_ATTR_USED_MEM_HIGH));

extern "C" {

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return forward(driver().cuDeviceGetDefaultMemPool, pool, device);
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return forward(driver().cuDeviceGetMemPool, pool, device);
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  return forward(driver().cuDeviceSetMemPool, device, pool);
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  return forward(driver().cuMemPoolCreate, pool, reinterpret_cast<const CUmemPoolProps*>(properties));
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  return forward(driver().cuMemPoolDestroy, pool);
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes) {
  return forward(driver().cuMemPoolTrimTo, pool, bytes);
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return forward(driver().cuMemPoolSetAttribute, pool, static_cast<CUmemPool_attribute>(attribute), value);
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return forward(driver().cuMemPoolGetAttribute, pool, static_cast<CUmemPool_attribute>(attribute), value);
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* access, size_t count) {
  return forward(driver().cuMemPoolSetAccess, pool, reinterpret_cast<const CUmemAccessDesc*>(access), count);
}

cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool, cudaMemLocation* location) {
  return forward(driver().cuMemPoolGetAccess, reinterpret_cast<CUmemAccess_flags*>(flags), pool,
                 reinterpret_cast<CUmemLocation*>(location));
}
}
