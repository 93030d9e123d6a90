// Virtual memory management: what the header of cuda.h says of each call.

#include "tests/simgpu/tests/fixture.h"

namespace simgpu {
namespace {

class VirtualMemoryTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    ASSERT_CU(cuMemAddressReserve(&range_, 16 * kGranularity, 0, 0, 0));
    ASSERT_CU(create_chunk(&chunk_, kGranularity));
    ASSERT_CU(create_chunk(&other_, kGranularity));
  }
  std::uint32_t first_word(CUdeviceptr address) {
    std::uint32_t word = 0;
    EXPECT_CU(cuMemcpyDtoH(&word, address, 4));
    return word;
  }
  CUdeviceptr range_ = 0;
  CUmemGenericAllocationHandle chunk_ = 0, other_ = 0;
};

TEST_F(VirtualMemoryTest, GranularityAndSizes) {
  const CUmemAllocationProp prop = device_property();
  std::size_t granularity = 0;
  ASSERT_CU(cuMemGetAllocationGranularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  EXPECT_EQ(granularity, kGranularity);
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(create_chunk(&handle, kGranularity / 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create_chunk(&handle, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create_chunk(&handle, 2048 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(VirtualMemoryTest, MapAccessUseUnmap) {
  ASSERT_CU(cuMemMap(range_, kGranularity, 0, chunk_, 0));
  ASSERT_CU(grant(range_, kGranularity));
  ASSERT_CU(cuMemsetD32(range_, 5, 16));
  EXPECT_EQ(first_word(range_), 5u);
  ASSERT_CU(cuMemUnmap(range_, kGranularity));
  ASSERT_CU(cuMemMap(range_ + kGranularity, kGranularity, 0, chunk_, 0));
  ASSERT_CU(grant(range_ + kGranularity, kGranularity));
  EXPECT_EQ(first_word(range_ + kGranularity), 5u) << "data moves with the chunk";
}

TEST_F(VirtualMemoryTest, AccessMustBeGranted) {
  ASSERT_CU(cuMemMap(range_, kGranularity, 0, chunk_, 0));
  char byte = 0;
  EXPECT_EQ(cuMemcpyDtoH(&byte, range_, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(VirtualMemoryTest, ReadOnlyIsHonoured) {
  ASSERT_CU(cuMemMap(range_, kGranularity, 0, chunk_, 0));
  ASSERT_CU(grant(range_, kGranularity, CU_MEM_ACCESS_FLAGS_PROT_READ));
  EXPECT_EQ(first_word(range_), 0u);
  ASSERT_CU(cuMemsetD8(range_, 1, 1));
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(VirtualMemoryTest, MapErrors) {
  EXPECT_EQ(cuMemMap(range_, kGranularity, kGranularity, chunk_, 0), CUDA_ERROR_INVALID_VALUE) << "offset";
  EXPECT_EQ(cuMemMap(range_, 2 * kGranularity, 0, chunk_, 0), CUDA_ERROR_INVALID_VALUE) << "size";
  EXPECT_EQ(cuMemMap(range_ + 4096, kGranularity, 0, chunk_, 0), CUDA_ERROR_INVALID_VALUE) << "alignment";
  EXPECT_EQ(cuMemMap(range_ + 16 * kGranularity, kGranularity, 0, chunk_, 0), CUDA_ERROR_INVALID_VALUE)
      << "not reserved";
  EXPECT_EQ(cuMemMap(range_, kGranularity, 0, 999, 0), CUDA_ERROR_INVALID_VALUE) << "handle";
  ASSERT_CU(cuMemMap(range_, kGranularity, 0, chunk_, 0));
  EXPECT_EQ(cuMemMap(range_, kGranularity, 0, other_, 0), CUDA_ERROR_INVALID_VALUE) << "mapped already";
}

TEST_F(VirtualMemoryTest, UnmapTakesWholeMappingsOneOrSeveral) {
  CUmemGenericAllocationHandle big = 0;
  ASSERT_CU(create_chunk(&big, 2 * kGranularity));
  ASSERT_CU(cuMemMap(range_, kGranularity, 0, chunk_, 0));
  ASSERT_CU(cuMemMap(range_ + kGranularity, 2 * kGranularity, 0, big, 0));
  EXPECT_EQ(cuMemUnmap(range_ + kGranularity, kGranularity), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemUnmap(range_, 4 * kGranularity), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(grant(range_ + kGranularity, kGranularity), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CU(grant(range_, 3 * kGranularity));
  EXPECT_CU(cuMemUnmap(range_, 3 * kGranularity));
  EXPECT_EQ(cuMemUnmap(range_, kGranularity), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(VirtualMemoryTest, ReservationsAreFreedWholeAndEmpty) {
  ASSERT_CU(cuMemMap(range_, kGranularity, 0, chunk_, 0));
  EXPECT_EQ(cuMemAddressFree(range_, 16 * kGranularity), CUDA_ERROR_INVALID_VALUE);
  ASSERT_CU(cuMemUnmap(range_, kGranularity));
  EXPECT_EQ(cuMemAddressFree(range_, kGranularity), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressFree(range_ + kGranularity, kGranularity), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CU(cuMemAddressFree(range_, 16 * kGranularity));
}

TEST_F(VirtualMemoryTest, HintIsTakenWhereFree) {
  CUdeviceptr hinted = 0;
  const CUdeviceptr hint = kWindowBase + kWindowBytes / 2;
  ASSERT_CU(cuMemAddressReserve(&hinted, kGranularity, 0, hint, 0));
  EXPECT_EQ(hinted, hint);
  ASSERT_CU(cuMemAddressReserve(&hinted, kGranularity, 0, hint, 0));
  EXPECT_NE(hinted, hint);
}

TEST_F(VirtualMemoryTest, ReleasedMemoryLivesUntilItsLastMappingGoes) {
  ASSERT_CU(cuMemMap(range_, kGranularity, 0, chunk_, 0));
  ASSERT_CU(cuMemMap(range_ + kGranularity, kGranularity, 0, chunk_, 0));
  ASSERT_CU(grant(range_, 2 * kGranularity));
  const std::uint64_t before = simgpu_used_bytes();
  ASSERT_CU(cuMemRelease(chunk_));
  EXPECT_EQ(cuMemRelease(chunk_), CUDA_ERROR_INVALID_VALUE);
  ASSERT_CU(cuMemsetD32(range_, 8, 1));
  EXPECT_EQ(first_word(range_ + kGranularity), 8u) << "two mappings of one chunk alias";
  ASSERT_CU(cuMemUnmap(range_, kGranularity));
  EXPECT_EQ(simgpu_used_bytes(), before);
  ASSERT_CU(cuMemUnmap(range_ + kGranularity, kGranularity));
  EXPECT_EQ(simgpu_used_bytes(), before - kGranularity);
}

TEST_F(VirtualMemoryTest, RetainGivesTheHandleBack) {
  ASSERT_CU(cuMemMap(range_, kGranularity, 0, chunk_, 0));
  CUmemGenericAllocationHandle again = 0;
  ASSERT_CU(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(range_ + 100)));
  EXPECT_EQ(again, chunk_);
  EXPECT_CU(cuMemRelease(chunk_));
  EXPECT_CU(cuMemRelease(chunk_));
  EXPECT_EQ(cuMemRelease(chunk_), CUDA_ERROR_INVALID_VALUE);
}

// The whole point of the strictness: unmap does not wait, so queued work that touches the range faults when it runs.
TEST_F(VirtualMemoryTest, UnmapUnderQueuedWorkFaults) {
  ASSERT_CU(cuMemMap(range_, kGranularity, 0, chunk_, 0));
  ASSERT_CU(grant(range_, kGranularity));
  ASSERT_CU(cuMemsetD8Async(range_, 1, kGranularity, nullptr));
  EXPECT_CU(cuMemUnmap(range_, kGranularity));
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(simgpu_violations(), 1u);
}

TEST_F(VirtualMemoryTest, CostsAreThoseOfTheProfile) {
  const std::uint64_t start = simgpu_virtual_ns();
  CUmemGenericAllocationHandle big = 0;
  ASSERT_CU(create_chunk(&big, 4 * kGranularity));
  EXPECT_EQ(simgpu_virtual_ns() - start, 4u * 2'000);
  ASSERT_CU(cuMemMap(range_, 4 * kGranularity, 0, big, 0));
  EXPECT_EQ(simgpu_virtual_ns() - start, 4u * 2'100);
  ASSERT_CU(grant(range_, 4 * kGranularity));
  EXPECT_EQ(simgpu_virtual_ns() - start, 4u * 3'100);
  ASSERT_CU(cuMemUnmap(range_, 4 * kGranularity));
  EXPECT_EQ(simgpu_virtual_ns() - start, 4u * 3'900);
}

TEST_F(VirtualMemoryTest, AttributesOfMappedAddresses) {
  ASSERT_CU(cuMemMap(range_, kGranularity, 0, chunk_, 0));
  ASSERT_CU(grant(range_, kGranularity));
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  ASSERT_CU(cuMemGetAddressRange(&base, &bytes, range_ + 100));
  EXPECT_EQ(base, range_);
  EXPECT_EQ(bytes, kGranularity);
  unsigned type = 0;
  ASSERT_CU(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, range_));
  EXPECT_EQ(type, static_cast<unsigned>(CU_MEMORYTYPE_DEVICE));
  EXPECT_EQ(cuMemFree(range_), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace simgpu
