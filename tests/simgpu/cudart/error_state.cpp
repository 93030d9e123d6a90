#include "tests/simgpu/cudart/error_state.h"

#include <cuda_runtime_api.h>

#include "tests/simgpu/cudart/driver_table.h"

namespace simgpu::cudart {
namespace {

thread_local cudaError_t last = cudaSuccess;

/// Those of which the headers say: the process must be terminated and relaunched.
bool ruins_context(cudaError_t error) {
  switch (error) {
    case cudaErrorECCUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
      return true;
    default:
      return false;
  }
}

const char* own_text(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    case cudaErrorInvalidSymbol:
      return "invalid device symbol";
    case cudaErrorInvalidMemcpyDirection:
      return "invalid copy direction for memcpy";
    case cudaErrorInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorCallRequiresNewerDriver:
      return "API call is not supported in the installed CUDA driver";
    case cudaErrorMissingConfiguration:
      return "__global__ function call is not configured";
    case cudaErrorInvalidDeviceFunction:
      return "invalid device function";
    default:
      return nullptr;
  }
}

}  // namespace

cudaError_t from_driver(CUresult result) {
  const auto error = static_cast<cudaError_t>(result);
  return error_name(error) == nullptr ? cudaErrorUnknown : error;
}

cudaError_t remember(cudaError_t error) {
  if (error != cudaSuccess) last = error;
  return error;
}

cudaError_t last_error() {
  return last;
}

cudaError_t take_last_error() {
  const cudaError_t error = last;
  if (!ruins_context(error)) last = cudaSuccess;
  return error;
}

const char* error_name(cudaError_t error) {
  switch (error) {
#define SIMGPU_ERROR(name) \
  case name:               \
    return #name;
#include "tests/simgpu/cudart/errors.def"
    default:
      return nullptr;
  }
}

}  // namespace simgpu::cudart

using namespace simgpu::cudart;

extern "C" {

cudaError_t cudaGetLastError() {
  return take_last_error();
}

cudaError_t cudaPeekAtLastError() {
  return last_error();
}

const char* cudaGetErrorName(cudaError_t error) {
  const char* name = error_name(error);
  return name == nullptr ? "unrecognized error code" : name;
}

const char* cudaGetErrorString(cudaError_t error) {
  if (error_name(error) == nullptr) return "unrecognized error code";
  if (const char* text = own_text(error)) return text;
  const char* text = nullptr;
  if (load_driver() == cudaSuccess) driver().cuGetErrorString(static_cast<CUresult>(error), &text);
  return text == nullptr ? error_name(error) : text;
}
}
