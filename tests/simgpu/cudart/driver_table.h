#pragma once

// The driver functions, found once at the first call that needs one, by the road that NVIDIA's runtime takes: one
// dlopen, one dlsym, then cuGetProcAddress. Never by linking: preloaded libraries must meet the hardest road into their
// hooks.

#include <cuda.h>
#include <cudaTypedefs.h>
#include <driver_types.h>

namespace simgpu::cudart {

/// A driver function that may be missing: an older driver is only refused where it is asked for what it lacks.
template <typename Signature>
class DriverFunction;

template <typename... Arguments>
class DriverFunction<CUresult (*)(Arguments...)> {
 public:
  CUresult operator()(Arguments... arguments) const {
    if (function_ == nullptr) return static_cast<CUresult>(cudaErrorCallRequiresNewerDriver);
    return function_(arguments...);
  }
  void** slot() { return reinterpret_cast<void**>(&function_); }

 private:
  CUresult (*function_)(Arguments...) = nullptr;
};

/// The functions that take a stream; what a NULL stream means is fixed by the variant that cuGetProcAddress gave.
struct StreamFunctions {
#define SIMGPU_STREAM(base, version, type_version, per_thread) DriverFunction<PFN_##base##_v##type_version> base;
#include "tests/simgpu/cudart/driver_functions.def"
};

struct DriverTable {
#define SIMGPU_PLAIN(base, version, type_version) DriverFunction<PFN_##base##_v##type_version> base;
#include "tests/simgpu/cudart/driver_functions.def"
  StreamFunctions legacy;
  StreamFunctions per_thread;
};

/// Finds the driver and initialises it, once; later calls return the first result.
/// cudaErrorInsufficientDriver: there is none, or it is older than this runtime. Thread-safe.
cudaError_t load_driver();

/// After load_driver() has succeeded.
const DriverTable& driver();

}  // namespace simgpu::cudart
