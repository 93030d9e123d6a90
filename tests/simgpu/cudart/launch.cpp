#include <cuda_runtime_api.h>

#include <cstdint>

#include "tests/simgpu/cudart/registry.h"
#include "tests/simgpu/cudart/stream_entry.h"

using namespace simgpu::cudart;

namespace {

static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute), "the two are handed on as they are");

CUfunction as_function(CUkernel kernel) {
  return reinterpret_cast<CUfunction>(kernel);
}

bool shape_is_legal(dim3 grid, dim3 block) {
  const bool none = grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0;
  return !none && static_cast<std::uint64_t>(block.x) * block.y * block.z <= 1024;
}

/// The driver calls a bad shape an invalid value; the runtime has a code of its own.
cudaError_t launched(CUresult result, dim3 grid, dim3 block) {
  if (result == CUDA_ERROR_INVALID_VALUE && !shape_is_legal(grid, block)) return cudaErrorInvalidConfiguration;
  return from_driver(result);
}

cudaError_t launch(const StreamFunctions& on, CUkernel kernel, dim3 grid, dim3 block, void** arguments,
                   size_t shared_bytes, cudaStream_t stream) {
  const CUresult result = on.cuLaunchKernel(as_function(kernel), grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                            static_cast<unsigned>(shared_bytes), stream, arguments, nullptr);
  return launched(result, grid, block);
}

}  // namespace

SIMGPU_STREAM_ENTRY(__cudaLaunchKernel, _ptsz, (kernel, grid, block, arguments, shared_bytes, stream),
                    cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                    cudaStream_t stream) {
  // nvcc's code goes on after a failed __cudaGetKernel, whose error says more than ours could.
  if (kernel == nullptr) return last_error() == cudaSuccess ? cudaErrorInvalidDeviceFunction : last_error();
  return launch(on, kernel, grid, block, arguments, shared_bytes, stream);
}

SIMGPU_STREAM_ENTRY(cudaLaunchKernel, _ptsz, (function, grid, block, arguments, shared_bytes, stream),
                    const void* function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                    cudaStream_t stream) {
  CUkernel kernel = nullptr;
  if (const cudaError_t error = find_kernel(function, kernel); error != cudaSuccess) return error;
  return launch(on, kernel, grid, block, arguments, shared_bytes, stream);
}

SIMGPU_STREAM_ENTRY(cudaLaunchCooperativeKernel, _ptsz, (function, grid, block, arguments, shared_bytes, stream),
                    const void* function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                    cudaStream_t stream) {
  CUkernel kernel = nullptr;
  if (const cudaError_t error = find_kernel(function, kernel); error != cudaSuccess) return error;
  const CUresult result = on.cuLaunchCooperativeKernel(as_function(kernel), grid.x, grid.y, grid.z, block.x, block.y,
                                                       block.z, static_cast<unsigned>(shared_bytes), stream, arguments);
  return launched(result, grid, block);
}

SIMGPU_STREAM_ENTRY(cudaLaunchKernelExC, _ptsz, (config, function, arguments), const cudaLaunchConfig_t* config,
                    const void* function, void** arguments) {
  if (config == nullptr) return cudaErrorInvalidValue;
  CUkernel kernel = nullptr;
  if (const cudaError_t error = find_kernel(function, kernel); error != cudaSuccess) return error;
  CUlaunchConfig out{};
  out.gridDimX = config->gridDim.x, out.gridDimY = config->gridDim.y, out.gridDimZ = config->gridDim.z;
  out.blockDimX = config->blockDim.x, out.blockDimY = config->blockDim.y, out.blockDimZ = config->blockDim.z;
  out.sharedMemBytes = static_cast<unsigned>(config->dynamicSmemBytes);
  out.hStream = config->stream;
  out.attrs = reinterpret_cast<CUlaunchAttribute*>(config->attrs);
  out.numAttrs = config->numAttrs;
  return launched(on.cuLaunchKernelEx(&out, as_function(kernel), arguments, nullptr), config->gridDim,
                  config->blockDim);
}

SIMGPU_STREAM_ENTRY(cudaLaunchHostFunc, _ptsz, (stream, function, data), cudaStream_t stream, cudaHostFn_t function,
                    void* data) {
  return from_driver(on.cuLaunchHostFunc(stream, function, data));
}
