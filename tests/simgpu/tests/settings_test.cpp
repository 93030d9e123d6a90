// Settings from the environment, device queries that follow from them, and the states before and after there is a
// device.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "tests/simgpu/tests/fixture.h"

namespace simgpu {
namespace {

struct Bad {
  const char* name;
  const char* value;
};

class BadSettingTest : public ::testing::TestWithParam<Bad> {};

TEST_P(BadSettingTest, IsOneLineAndAnError) {
  start_device();
  setenv(GetParam().name, GetParam().value, 1);
  simgpu_reset();
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(cuInit(0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuInit(0), CUDA_ERROR_INVALID_VALUE);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_NE(said.find(std::string(GetParam().name) + "=" + GetParam().value), std::string::npos) << said;
  CUdevice device = 0;
  EXPECT_EQ(cuDeviceGet(&device, 0), CUDA_ERROR_NOT_INITIALIZED);
  unsetenv(GetParam().name);
}

INSTANTIATE_TEST_SUITE_P(All, BadSettingTest,
                         ::testing::Values(Bad{"SIMGPU_PROFILE", "rtx"}, Bad{"SIMGPU_PROFILE", "a100,fast"},
                                           Bad{"SIMGPU_SEED", "x"}, Bad{"SIMGPU_SEED", "-1"}, Bad{"SIMGPU_SEED", "1 "},
                                           Bad{"SIMGPU_SEED", "99999999999999999999"}, Bad{"SIMGPU_WORKERS", "0"},
                                           Bad{"SIMGPU_WORKERS", "65"}, Bad{"SIMGPU_CC", "7"}, Bad{"SIMGPU_CC", "7."},
                                           Bad{"SIMGPU_CC", "99.0"}, Bad{"SIMGPU_LOG", "/nonexistent/log"}));

int attribute(CUdevice_attribute which) {
  int value = -1;
  EXPECT_CU(cuDeviceGetAttribute(&value, which, 0));
  return value;
}

TEST(SettingsTest, ComputeCapability) {
  start_device();
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), 7);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR), 5);
  start_device({{"SIMGPU_CC", "8.0"}});
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), 8);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR), 2048);
}

TEST(SettingsTest, EveryProfileStarts) {
  for (const char* name : {"a100", "titanx", "h200", "test", "titanx,skew"}) {
    start_device({{"SIMGPU_PROFILE", name}});
    CUdeviceptr buffer = 0;
    EXPECT_CU(cuMemAlloc(&buffer, 100 * kMiB)) << name;
    EXPECT_CU(cuMemsetD8(buffer, 1, kMiB));
    EXPECT_CU(cuCtxSynchronize());
  }
  start_device();
}

TEST(SettingsTest, BeforeInitialisation) {
  start_device();
  simgpu_reset();
  int version = 0, count = 0;
  EXPECT_CU(cuDriverGetVersion(&version));
  EXPECT_EQ(version, CUDA_VERSION);
  EXPECT_EQ(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_NOT_INITIALIZED);
  ASSERT_CU(cuInit(0));
  EXPECT_CU(cuDeviceGetCount(&count));
  EXPECT_EQ(count, 1);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
  CUdevice device = 0;
  EXPECT_EQ(cuDeviceGet(&device, 1), CUDA_ERROR_INVALID_DEVICE);
}

TEST(SettingsTest, ErrorTexts) {
  const char* text = nullptr;
  ASSERT_CU(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
  EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  ASSERT_CU(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
  EXPECT_STREQ(text, "out of memory");
  EXPECT_EQ(cuGetErrorName(static_cast<CUresult>(998), &text), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(text, nullptr);
}

TEST(SettingsTest, AForkedChildHasNoDevice) {
  start_device();
  const pid_t child = fork();
  if (child == 0)
    _exit(cuInit(0) == CUDA_ERROR_NOT_INITIALIZED && cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_CU(cuCtxSynchronize()) << "the parent's is untouched";
}

TEST(SettingsTest, ContextsAreAStack) {
  start_device();
  CUcontext primary = nullptr, made = nullptr, current = nullptr;
  ASSERT_CU(cuCtxGetCurrent(&primary));
  ASSERT_CU(cuCtxCreate(&made, nullptr, 0, 0));
  ASSERT_CU(cuCtxGetCurrent(&current));
  EXPECT_EQ(current, made);
  EXPECT_EQ(simgpu_used_bytes(), 2 * kContextBytes);
  ASSERT_CU(cuCtxDestroy(made));
  ASSERT_CU(cuCtxGetCurrent(&current));
  EXPECT_EQ(current, primary);
  EXPECT_EQ(simgpu_used_bytes(), kContextBytes);
  EXPECT_EQ(cuCtxDestroy(made), CUDA_ERROR_INVALID_CONTEXT);
}

}  // namespace
}  // namespace simgpu
