#pragma once

// A fresh simulated device for each test, profile `test`, in the current process.

#include <cuda.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tests/simgpu/simgpu.h"
#include "tests/simgpu/tests/test_module.h"

namespace simgpu {

#define EXPECT_CU(call) EXPECT_EQ(call, CUDA_SUCCESS)
#define ASSERT_CU(call) ASSERT_EQ(call, CUDA_SUCCESS)

inline constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB;
inline constexpr std::uint64_t kGranularity = 64 * kKiB;
inline constexpr std::uint64_t kContextBytes = 16 * kMiB;

using Variables = std::initializer_list<std::pair<const char*, std::string>>;

inline void start_device(Variables variables = {}) {
  for (const char* name : {"SIMGPU_SEED", "SIMGPU_LOG", "SIMGPU_STATS", "SIMGPU_CC", "SIMGPU_WORKERS"}) unsetenv(name);
  setenv("SIMGPU_PROFILE", "test", 1);
  for (const auto& [name, value] : variables) setenv(name, value.c_str(), 1);
  simgpu_reset();
  ASSERT_CU(cuInit(0));
  CUcontext context = nullptr;
  ASSERT_CU(cuDevicePrimaryCtxRetain(&context, 0));
  ASSERT_CU(cuCtxSetCurrent(context));
}

class DeviceTest : public ::testing::Test {
 protected:
  void SetUp() override { start_device(); }
};

struct Kernels {
  CUmodule module = nullptr;
  CUfunction fill = nullptr, copy = nullptr, spend = nullptr, fault = nullptr;

  Kernels() {
    EXPECT_CU(cuModuleLoadData(&module, kTestImage));
    EXPECT_CU(cuModuleGetFunction(&fill, module, "fill"));
    EXPECT_CU(cuModuleGetFunction(&copy, module, "copy"));
    EXPECT_CU(cuModuleGetFunction(&spend, module, "spend"));
    EXPECT_CU(cuModuleGetFunction(&fault, module, "fault"));
  }
  static CUresult launch(CUfunction function, CUstream stream, void** parameters) {
    return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr);
  }
  CUresult run_fill(CUdeviceptr to, std::uint32_t value, std::uint32_t count, CUstream stream = nullptr) const {
    void* parameters[] = {&to, &value, &count};
    return launch(fill, stream, parameters);
  }
  CUresult run_copy(CUdeviceptr to, CUdeviceptr from, std::uint32_t count, CUstream stream = nullptr) const {
    void* parameters[] = {&to, &from, &count};
    return launch(copy, stream, parameters);
  }
  CUresult run_spend(std::uint64_t work, CUstream stream = nullptr) const {
    void* parameters[] = {&work};
    return launch(spend, stream, parameters);
  }
  CUresult run_fault(CUdeviceptr address, CUstream stream = nullptr) const {
    void* parameters[] = {&address};
    return launch(fault, stream, parameters);
  }
};

inline CUmemAllocationProp device_property() {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  return prop;
}

inline CUresult create_chunk(CUmemGenericAllocationHandle* handle, std::uint64_t bytes) {
  const CUmemAllocationProp prop = device_property();
  return cuMemCreate(handle, bytes, &prop, 0);
}

inline CUresult grant(CUdeviceptr address, std::uint64_t bytes,
                      CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
  const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, {0}}, flags};
  return cuMemSetAccess(address, bytes, &access, 1);
}

}  // namespace simgpu
