#pragma once

#include <cuda.h>
#include <driver_types.h>

namespace simgpu::cudart {

/// Runtime codes have the driver's numbers wherever both know an error.
cudaError_t from_driver(CUresult result);

/// Makes `error` the thread's last error unless it is a success; returns it.
cudaError_t remember(cudaError_t error);

/// The thread's last error. take_last_error clears it, but for an error that has ruined the context.
cudaError_t last_error();
cudaError_t take_last_error();

/// "cudaErrorInvalidValue"; nullptr when there is no such error.
const char* error_name(cudaError_t error);

}  // namespace simgpu::cudart
