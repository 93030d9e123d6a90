#pragma once

// The driver as the runtime calls it: a table of pointers into the real driver, never our own exported names. Every
// driver call of the runtime's own goes through here; tests put a table in its place whose calls fail on purpose.

#include <cuda.h>

#include <string_view>

#include "runtime/hooks.h"

namespace tensorpager {

// Exported names without macros of cuda.h behind them, so that the name looked up is the name typed.
#define TENSORPAGER_DRIVER_CALLS(X) \
  X(cuCtxGetCurrent)                \
  X(cuCtxGetDevice)                 \
  X(cuCtxPopCurrent_v2)             \
  X(cuCtxPushCurrent_v2)            \
  X(cuDeviceGetCount)               \
  X(cuDeviceGetDefaultMemPool)      \
  X(cuDevicePrimaryCtxGetState)     \
  X(cuDevicePrimaryCtxRelease_v2)   \
  X(cuDevicePrimaryCtxRetain)       \
  X(cuEventCreate)                  \
  X(cuEventQuery)                   \
  X(cuEventRecord)                  \
  X(cuEventSynchronize)             \
  X(cuFuncGetName)                  \
  X(cuFuncGetParamInfo)             \
  X(cuGetErrorName)                 \
  X(cuKernelGetName)                \
  X(cuKernelGetParamInfo)           \
  X(cuMemAddressFree)               \
  X(cuMemAddressReserve)            \
  X(cuMemCreate)                    \
  X(cuMemGetAllocationGranularity)  \
  X(cuMemGetInfo_v2)                \
  X(cuMemHostAlloc)                 \
  X(cuMemMap)                       \
  X(cuMemRelease)                   \
  X(cuMemSetAccess)                 \
  X(cuMemUnmap)                     \
  X(cuMemcpyDtoHAsync_v2)           \
  X(cuMemcpyHtoDAsync_v2)           \
  X(cuStreamCreate)                 \
  X(cuStreamIsCapturing)            \
  X(cuStreamWaitEvent)              \
  X(cuThreadExchangeStreamCaptureMode)

struct Driver {
#define TENSORPAGER_DECLARE_CALL(name) decltype(&::name) name = nullptr;
  TENSORPAGER_DRIVER_CALLS(TENSORPAGER_DECLARE_CALL)
#undef TENSORPAGER_DECLARE_CALL
};

/// The table in use. Valid from load_driver() on.
const Driver& driver() noexcept;

/// Fills the table. Returns the first name that the driver lacks, or empty: the runtime needs all of them.
std::string_view load_driver(DriverLookup find) noexcept;

/// Puts `table` in the place of the loaded one (nullptr: back to it). For tests; it must outlive its use.
void replace_driver(const Driver* table) noexcept;

/// The driver's name of a code, for messages.
const char* error_name(CUresult code) noexcept;

/// Around the runtime's own calls. They may not break a capture that the job has under way, so the thread's capture
/// mode is relaxed for as long, and they act in `context`, whatever is current.
class OwnCalls {
 public:
  explicit OwnCalls(CUcontext context) noexcept;
  ~OwnCalls();
  OwnCalls(const OwnCalls&) = delete;
  OwnCalls& operator=(const OwnCalls&) = delete;

 private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
  bool relaxed_ = false;
  bool pushed_ = false;
};

}  // namespace tensorpager
