#pragma once

// The simulated device's driver, opened by path as the interposer opens the real one, with the calls that a job makes.

#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "runtime/driver.h"

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

  /// Opened, with a current context, and loaded as the runtime's driver.
  static const SimDriver& open() {
    static const SimDriver driver = make();
    return driver;
  }

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
    EXPECT_EQ(load_driver(find), "");
    CUcontext context = nullptr;
    EXPECT_EQ(driver.cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
    return driver;
  }
};

}  // namespace tensorpager::test
