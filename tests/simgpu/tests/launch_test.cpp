// From cuInit to a kernel's result, by modules and by libraries.

#include "tests/simgpu/tests/fixture.h"

namespace simgpu {
namespace {

using LaunchTest = DeviceTest;

TEST_F(LaunchTest, KernelWritesMemory) {
  const Kernels kernels;
  CUdeviceptr buffer = 0;
  ASSERT_CU(cuMemAlloc(&buffer, 1000 * 4));
  ASSERT_CU(kernels.run_fill(buffer, 7, 1000));
  std::vector<std::uint32_t> host(1000);
  ASSERT_CU(cuMemcpyDtoH(host.data(), buffer, 4000));
  EXPECT_EQ(host, std::vector<std::uint32_t>(1000, 7));
  EXPECT_EQ(simgpu_violations(), 0u);
}

TEST_F(LaunchTest, ParametersAreCopiedAtTheCall) {
  const Kernels kernels;
  CUdeviceptr buffer = 0;
  ASSERT_CU(cuMemAlloc(&buffer, 4));
  std::uint32_t value = 1, count = 1;
  void* parameters[] = {&buffer, &value, &count};
  ASSERT_CU(Kernels::launch(kernels.fill, nullptr, parameters));
  value = 2;
  std::uint32_t host = 0;
  ASSERT_CU(cuMemcpyDtoH(&host, buffer, 4));
  EXPECT_EQ(host, 1u);
}

TEST_F(LaunchTest, ExtraBufferGivesTheParameters) {
  const Kernels kernels;
  CUdeviceptr buffer = 0;
  ASSERT_CU(cuMemAlloc(&buffer, 4));
  struct {
    CUdeviceptr to;
    std::uint32_t value, count;
  } blob = {buffer, 9, 1};
  std::size_t bytes = sizeof(blob);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &blob, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  ASSERT_CU(cuLaunchKernel(kernels.fill, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra));
  std::uint32_t host = 0;
  ASSERT_CU(cuMemcpyDtoH(&host, buffer, 4));
  EXPECT_EQ(host, 9u);
  bytes = 8;
  EXPECT_EQ(cuLaunchKernel(kernels.fill, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LaunchTest, LibraryKernelsAndFunctionsAreDistinct) {
  CUlibrary library = nullptr;
  ASSERT_CU(cuLibraryLoadData(&library, kTestImage, nullptr, nullptr, 0, nullptr, nullptr, 0));
  CUkernel kernel = nullptr;
  ASSERT_CU(cuLibraryGetKernel(&kernel, library, "spend"));
  EXPECT_EQ(cuLibraryGetKernel(&kernel, library, "nothing"), CUDA_ERROR_NOT_FOUND);
  ASSERT_CU(cuLibraryGetKernel(&kernel, library, "spend"));
  CUfunction function = nullptr;
  ASSERT_CU(cuKernelGetFunction(&function, kernel));
  EXPECT_NE(static_cast<void*>(function), static_cast<void*>(kernel));

  std::size_t offset = 99, bytes = 99;
  EXPECT_EQ(cuFuncGetParamInfo(reinterpret_cast<CUfunction>(kernel), 0, &offset, &bytes), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuKernelGetParamInfo(reinterpret_cast<CUkernel>(function), 0, &offset, &bytes), CUDA_ERROR_INVALID_HANDLE);
  ASSERT_CU(cuFuncGetParamInfo(function, 0, &offset, &bytes));
  EXPECT_EQ(std::pair(offset, bytes), std::pair(std::size_t{0}, std::size_t{8}));
  EXPECT_EQ(cuKernelGetParamInfo(kernel, 1, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);

  std::uint64_t work = 1;
  void* parameters[] = {&work};
  EXPECT_CU(Kernels::launch(function, nullptr, parameters));
  EXPECT_CU(Kernels::launch(reinterpret_cast<CUfunction>(kernel), nullptr, parameters));
  EXPECT_CU(cuCtxSynchronize());
  EXPECT_CU(cuLibraryUnload(library));
  EXPECT_EQ(Kernels::launch(function, nullptr, parameters), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(LaunchTest, ShapesAreChecked) {
  const Kernels kernels;
  std::uint64_t work = 1;
  void* parameters[] = {&work};
  EXPECT_EQ(cuLaunchKernel(kernels.spend, 0, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchKernel(kernels.spend, 1, 1, 1, 2048, 1, 1, 0, nullptr, parameters, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchKernel(kernels.spend, 1, 1, 1, 1, 1, 1, 60'000, nullptr, parameters, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  ASSERT_CU(cuFuncSetAttribute(kernels.spend, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60'000));
  EXPECT_CU(cuLaunchKernel(kernels.spend, 1, 1, 1, 1, 1, 1, 60'000, nullptr, parameters, nullptr));
  EXPECT_EQ(cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(LaunchTest, AFaultIsStickyAndRecorded) {
  const Kernels kernels;
  CUdeviceptr buffer = 0;
  ASSERT_CU(cuMemAlloc(&buffer, 4));
  ASSERT_CU(kernels.run_fault(0x1234));
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuMemcpyDtoH(&buffer, buffer, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(kernels.run_spend(1), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(simgpu_violations(), 1u);
  char line[200];
  EXPECT_GT(simgpu_violation_line(0, line, sizeof line), 0u);
  EXPECT_NE(std::string(line).find("fault at 0x1234"), std::string::npos) << line;
  EXPECT_CU(cuDevicePrimaryCtxReset(0));
  CUcontext context = nullptr;
  ASSERT_CU(cuDevicePrimaryCtxRetain(&context, 0));
  EXPECT_CU(cuCtxSynchronize());
}

TEST_F(LaunchTest, UnknownCodeIsRefused) {
  CUmodule module = nullptr;
  EXPECT_EQ(cuModuleLoadData(&module, "something else"), CUDA_ERROR_INVALID_PTX);
  char log[100] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  EXPECT_EQ(cuModuleLoadDataEx(&module, "something else", 2, options, values), CUDA_ERROR_INVALID_PTX);
  EXPECT_STREQ(log, "not the test image");
}

TEST_F(LaunchTest, GlobalsAreDeviceMemory) {
  const Kernels kernels;
  CUdeviceptr counter = 0;
  std::size_t bytes = 0;
  ASSERT_CU(cuModuleGetGlobal(&counter, &bytes, kernels.module, "counter"));
  EXPECT_EQ(bytes, 4u);
  EXPECT_CU(cuMemsetD32(counter, 5, 1));
  EXPECT_EQ(cuModuleGetGlobal(&counter, &bytes, kernels.module, "nothing"), CUDA_ERROR_NOT_FOUND);
}

}  // namespace
}  // namespace simgpu
