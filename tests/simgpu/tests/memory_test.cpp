// Plain and page-locked memory: capacity, errors, pointer attributes, copies of all shapes.

#include "tests/simgpu/tests/fixture.h"

namespace simgpu {
namespace {

using MemoryTest = DeviceTest;

std::uint64_t free_bytes() {
  std::size_t free = 0, total = 0;
  EXPECT_CU(cuMemGetInfo(&free, &total));
  EXPECT_EQ(total, 1024 * kMiB);
  return free;
}

TEST_F(MemoryTest, CapacityCountsContextsAndHighWater) {
  EXPECT_EQ(free_bytes(), 1024 * kMiB - kContextBytes);
  CUdeviceptr buffer = 0;
  EXPECT_EQ(cuMemAlloc(&buffer, 1024 * kMiB - kContextBytes + 1), CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_CU(cuMemAlloc(&buffer, 1024 * kMiB - kContextBytes));
  EXPECT_EQ(free_bytes(), 0u);
  CUdeviceptr other = 0;
  EXPECT_EQ(cuMemAlloc(&other, 1), CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_CU(cuMemFree(buffer));
  EXPECT_EQ(free_bytes(), 1024 * kMiB - kContextBytes);
  EXPECT_EQ(simgpu_high_water_bytes(), 1024 * kMiB);
}

TEST_F(MemoryTest, SmallBlocksShareAGranule) {
  CUdeviceptr first = 0, second = 0;
  ASSERT_CU(cuMemAlloc(&first, 1));
  ASSERT_CU(cuMemAlloc(&second, 1000));
  EXPECT_EQ(second - first, 512u);
  EXPECT_EQ(simgpu_used_bytes(), kContextBytes + kGranularity);
  ASSERT_CU(cuMemFree(first));
  ASSERT_CU(cuMemFree(second));
  EXPECT_EQ(simgpu_used_bytes(), kContextBytes);
}

TEST_F(MemoryTest, ErrorsOfAllocAndFree) {
  CUdeviceptr buffer = 0;
  EXPECT_EQ(cuMemAlloc(&buffer, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAlloc(nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocManaged(&buffer, 1, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_NOT_SUPPORTED);
  ASSERT_CU(cuMemAlloc(&buffer, kMiB));
  EXPECT_EQ(cuMemFree(buffer + 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CU(cuMemFree(buffer));
  EXPECT_EQ(cuMemFree(buffer), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CU(cuMemFree(0));
}

TEST_F(MemoryTest, UseAfterFreeFaults) {
  CUdeviceptr buffer = 0;
  ASSERT_CU(cuMemAlloc(&buffer, kMiB));
  ASSERT_CU(cuMemFree(buffer));
  char byte = 0;
  EXPECT_EQ(cuMemcpyDtoH(&byte, buffer, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuMemAlloc(&buffer, kMiB), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(MemoryTest, CopyOverTheEndFaultsBeforeATouch) {
  CUdeviceptr buffer = 0;
  ASSERT_CU(cuMemAlloc(&buffer, kGranularity));
  std::vector<char> host(2 * kGranularity, 'x');
  EXPECT_EQ(cuMemcpyDtoH(host.data(), buffer, 2 * kGranularity), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(host[0], 'x');
}

TEST_F(MemoryTest, DirectionsAreChecked) {
  char a = 0, b = 0;
  EXPECT_EQ(cuMemcpyHtoD(reinterpret_cast<CUdeviceptr>(&a), &b, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoH(&a, reinterpret_cast<CUdeviceptr>(&b), 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD8(reinterpret_cast<CUdeviceptr>(&a), 1, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MemoryTest, TheHostCannotReachDeviceMemory) {
  CUdeviceptr buffer = 0;
  ASSERT_CU(cuMemAlloc(&buffer, kMiB));
  EXPECT_DEATH(*reinterpret_cast<volatile char*>(buffer) = 1, "");
}

TEST_F(MemoryTest, PageLockedMemoryIsBothHostsAndDevices) {
  const Kernels kernels;
  std::uint32_t* host = nullptr;
  ASSERT_CU(cuMemHostAlloc(reinterpret_cast<void**>(&host), 400, CU_MEMHOSTALLOC_DEVICEMAP));
  CUdeviceptr device = 0;
  ASSERT_CU(cuMemHostGetDevicePointer(&device, host, 0));
  ASSERT_CU(kernels.run_fill(device, 3, 100));
  ASSERT_CU(cuCtxSynchronize());
  EXPECT_EQ(std::vector<std::uint32_t>(host, host + 100), std::vector<std::uint32_t>(100, 3));
  unsigned type = 0;
  ASSERT_CU(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device));
  EXPECT_EQ(type, static_cast<unsigned>(CU_MEMORYTYPE_HOST));
  ASSERT_CU(cuMemFreeHost(host));
  EXPECT_EQ(cuMemFreeHost(host), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostAlloc(reinterpret_cast<void**>(&host), 4096 * kMiB, 0), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(MemoryTest, RegisteredMemory) {
  std::vector<char> host(8192);
  ASSERT_CU(cuMemHostRegister(host.data(), host.size(), 0));
  EXPECT_EQ(cuMemHostRegister(host.data(), 10, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  CUdeviceptr device = 0;
  EXPECT_EQ(cuMemHostGetDevicePointer(&device, host.data(), 0), CUDA_ERROR_NOT_SUPPORTED);
  ASSERT_CU(cuMemHostUnregister(host.data()));
  EXPECT_EQ(cuMemHostUnregister(host.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

TEST_F(MemoryTest, PointerAttributes) {
  CUdeviceptr buffer = 0;
  ASSERT_CU(cuMemAlloc(&buffer, 3 * kMiB));
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  ASSERT_CU(cuMemGetAddressRange(&base, &bytes, buffer + kMiB));
  EXPECT_EQ(base, buffer);
  EXPECT_EQ(bytes, 3 * kMiB);
  EXPECT_EQ(cuMemGetAddressRange(&base, &bytes, buffer + 3 * kMiB), CUDA_ERROR_NOT_FOUND);
  char local = 0;
  unsigned type = 9;
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(&local)),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MemoryTest, UnknownPointersGetDefaults) {
  char local = 0;
  int ordinal = 9, managed = 9;
  unsigned type = 9;
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                      CU_POINTER_ATTRIBUTE_MEMORY_TYPE};
  void* out[] = {&ordinal, &managed, &type};
  ASSERT_CU(cuPointerGetAttributes(3, attributes, out, reinterpret_cast<CUdeviceptr>(&local)));
  EXPECT_EQ(ordinal, -2);
  EXPECT_EQ(managed, 0);
  EXPECT_EQ(type, 0u);
}

TEST_F(MemoryTest, FillsOfAllWidths) {
  CUdeviceptr buffer = 0;
  ASSERT_CU(cuMemAlloc(&buffer, 16));
  ASSERT_CU(cuMemsetD8(buffer, 0x11, 16));
  ASSERT_CU(cuMemsetD16(buffer, 0x2233, 2));
  ASSERT_CU(cuMemsetD32(buffer + 8, 0x44556677, 1));
  EXPECT_EQ(cuMemsetD32(buffer + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
  std::vector<std::uint32_t> host(4);
  ASSERT_CU(cuMemcpyDtoH(host.data(), buffer, 16));
  EXPECT_EQ(host, (std::vector<std::uint32_t>{0x22332233, 0x11111111, 0x44556677, 0x11111111}));
}

TEST_F(MemoryTest, TwoDimensionalCopiesAndFills) {
  CUdeviceptr buffer = 0;
  std::size_t pitch = 0;
  ASSERT_CU(cuMemAllocPitch(&buffer, &pitch, 5, 3, 4));
  EXPECT_EQ(pitch, 512u);
  ASSERT_CU(cuMemsetD2D8(buffer, pitch, 1, 5, 3));
  std::vector<char> host = {'a', 'b', '.', 'c', 'd', '.'};
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host.data();
  copy.srcPitch = 3;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = buffer;
  copy.dstPitch = pitch;
  copy.dstXInBytes = 1;
  copy.dstY = 1;
  copy.WidthInBytes = 2;
  copy.Height = 2;
  ASSERT_CU(cuMemcpy2D(&copy));
  std::vector<char> row(5);
  ASSERT_CU(cuMemcpyDtoH(row.data(), buffer + 2 * pitch, 5));
  EXPECT_EQ(row, (std::vector<char>{1, 'c', 'd', 1, 1}));
  ASSERT_CU(cuMemcpyDtoH(row.data(), buffer, 5));
  EXPECT_EQ(row, std::vector<char>(5, 1));
}

TEST_F(MemoryTest, ThreeDimensionalCopy) {
  CUdeviceptr buffer = 0;
  ASSERT_CU(cuMemAlloc(&buffer, 64));
  std::vector<char> host(64);
  std::iota(host.begin(), host.end(), char{0});
  ASSERT_CU(cuMemcpyHtoD(buffer, host.data(), 64));
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = buffer;
  copy.srcPitch = 4;
  copy.srcHeight = 4;
  copy.srcZ = 1;
  copy.srcY = 1;
  copy.srcXInBytes = 2;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  std::vector<char> out(8);
  copy.dstHost = out.data();
  copy.WidthInBytes = 2;
  copy.Height = 2;
  copy.Depth = 2;
  ASSERT_CU(cuMemcpy3D(&copy));
  EXPECT_EQ(out, (std::vector<char>{22, 23, 26, 27, 38, 39, 42, 43}));
}

TEST_F(MemoryTest, LeaksAreNamed) {
  char text[200];
  EXPECT_EQ(simgpu_leaks(text, sizeof text), 0u);
  CUdeviceptr buffer = 0;
  CUstream stream = nullptr;
  ASSERT_CU(cuMemAlloc(&buffer, 1));
  ASSERT_CU(cuStreamCreate(&stream, 0));
  EXPECT_EQ(simgpu_leaks(text, sizeof text), 2u);
  EXPECT_STREQ(text, "1 device allocations, 1 streams");
}

TEST_F(MemoryTest, ResetOfThePrimaryContextDropsDeviceState) {
  CUdeviceptr buffer = 0;
  CUstream stream = nullptr;
  ASSERT_CU(cuMemAlloc(&buffer, kMiB));
  ASSERT_CU(cuStreamCreate(&stream, 0));
  ASSERT_CU(cuDevicePrimaryCtxReset(0));
  EXPECT_EQ(simgpu_used_bytes(), 0u);
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

}  // namespace
}  // namespace simgpu
