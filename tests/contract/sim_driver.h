#pragma once

// The simulated device's driver, opened by path as the interposer opens the real one, with the calls that a job makes.

#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "runtime/driver.h"
#include "tests/simgpu/simgpu.h"

namespace tensorpager::test {

#define TENSORPAGER_JOB_CALLS(X) \
  X(cuInit)                      \
  X(cuCtxSetCurrent)             \
  X(cuDevicePrimaryCtxRetain)    \
  X(cuStreamCreate)              \
  X(cuStreamDestroy_v2)          \
  X(cuStreamSynchronize)         \
  X(cuStreamWaitEvent)           \
  X(cuEventCreate)               \
  X(cuEventRecord)               \
  X(cuEventDestroy_v2)           \
  X(cuCtxSynchronize)            \
  X(cuMemAlloc_v2)               \
  X(cuMemFree_v2)                \
  X(cuMemGetInfo_v2)             \
  X(cuMemsetD32Async)            \
  X(cuMemcpyDtoDAsync_v2)        \
  X(cuMemcpyDtoHAsync_v2)

struct SimDriver {
#define TENSORPAGER_JOB_CALL(name) decltype(&::name) name = nullptr;
  TENSORPAGER_JOB_CALLS(TENSORPAGER_JOB_CALL)
#undef TENSORPAGER_JOB_CALL

  static void* find(const char* name) {
    return dlsym(library(), name);
  }

  /// Opened and loaded as the runtime's driver.
  static const SimDriver& open() {
    static const SimDriver driver = make();
    return driver;
  }

  /// As a fresh process has it, with a current context. What lived on the device before is gone.
  void restart() const {
    simgpu_reset();
    EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
    make_current();
  }

  /// Each thread needs the context for itself.
  void make_current() const {
    CUcontext context = nullptr;
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  }

  decltype(&::simgpu_reset) simgpu_reset = nullptr;
  decltype(&::simgpu_violations) simgpu_violations = nullptr;
  decltype(&::simgpu_high_water_bytes) simgpu_high_water_bytes = nullptr;

 private:
  static void* library() {
    static void* const handle = dlopen(TENSORPAGER_SIM_LIBCUDA, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) throw std::runtime_error(dlerror());
    return handle;
  }

  static SimDriver make() {
    SimDriver driver;
#define TENSORPAGER_FIND_JOB_CALL(name) driver.name = reinterpret_cast<decltype(SimDriver::name)>(find(#name));
    TENSORPAGER_JOB_CALLS(TENSORPAGER_FIND_JOB_CALL)
#undef TENSORPAGER_FIND_JOB_CALL
    driver.simgpu_reset = reinterpret_cast<decltype(simgpu_reset)>(find("simgpu_reset"));
    driver.simgpu_violations = reinterpret_cast<decltype(simgpu_violations)>(find("simgpu_violations"));
    driver.simgpu_high_water_bytes =
        reinterpret_cast<decltype(simgpu_high_water_bytes)>(find("simgpu_high_water_bytes"));
    EXPECT_EQ(load_driver(find), "");
    return driver;
  }
};

}  // namespace tensorpager::test
