// Stream-ordered allocation: reuse, accounting, thresholds.

#include "tests/simgpu/tests/fixture.h"

namespace simgpu {
namespace {

class PoolTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    ASSERT_CU(cuDeviceGetDefaultMemPool(&pool_, 0));
    ASSERT_CU(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    ASSERT_CU(cuStreamCreate(&other_, CU_STREAM_NON_BLOCKING));
  }
  std::uint64_t attribute(CUmemPool_attribute which) {
    cuuint64_t value = 0;
    EXPECT_CU(cuMemPoolGetAttribute(pool_, which, &value));
    return value;
  }
  CUdeviceptr allocate(std::uint64_t bytes, CUstream stream) {
    CUdeviceptr address = 0;
    EXPECT_CU(cuMemAllocAsync(&address, bytes, stream));
    return address;
  }
  void set_threshold(cuuint64_t bytes) {
    ASSERT_CU(cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &bytes));
  }
  CUmemoryPool pool_ = nullptr;
  CUstream stream_ = nullptr, other_ = nullptr;
};

TEST_F(PoolTest, SameStreamReusesAtOnce) {
  const CUdeviceptr first = allocate(kMiB, stream_);
  ASSERT_CU(cuMemFreeAsync(first, stream_));
  EXPECT_EQ(allocate(kMiB, stream_), first);
}

TEST_F(PoolTest, AnotherStreamReusesOnlyWhatComesBefore) {
  const Kernels kernels;
  const CUdeviceptr first = allocate(kMiB, stream_);
  ASSERT_CU(kernels.run_spend(1'000'000'000, stream_));
  ASSERT_CU(cuMemFreeAsync(first, stream_));
  EXPECT_NE(allocate(kMiB, other_), first) << "no order between the streams";
  CUevent event = nullptr;
  ASSERT_CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  ASSERT_CU(cuEventRecord(event, stream_));
  ASSERT_CU(cuStreamWaitEvent(other_, event, 0));
  EXPECT_EQ(allocate(kMiB, other_), first) << "the event orders them";
}

TEST_F(PoolTest, AnotherStreamReusesWhatHasEnded) {
  set_threshold(~0ull);
  const CUdeviceptr first = allocate(kMiB, stream_);
  ASSERT_CU(cuMemFreeAsync(first, stream_));
  ASSERT_CU(cuStreamSynchronize(stream_));
  EXPECT_EQ(allocate(kMiB, other_), first);
}

TEST_F(PoolTest, FullDeviceOrdersTheAllocationAfterTheFree) {
  const Kernels kernels;
  const std::uint64_t most = 1024 * kMiB - simgpu_used_bytes();
  const CUdeviceptr first = allocate(most, stream_);
  ASSERT_CU(kernels.run_spend(1'000'000'000, stream_));
  ASSERT_CU(cuMemFreeAsync(first, stream_));
  EXPECT_EQ(allocate(most, other_), first);
  const std::uint64_t start = simgpu_virtual_ns();
  ASSERT_CU(cuStreamSynchronize(other_));
  EXPECT_GT(simgpu_virtual_ns() - start, 900'000u) << "the allocation waits for the kernel on the other stream";
}

TEST_F(PoolTest, OutOfMemory) {
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAllocAsync(&address, 1024 * kMiB, stream_), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemAllocAsync(&address, 0, stream_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PoolTest, UsedAndReservedMarks) {
  const CUdeviceptr first = allocate(100, stream_);
  EXPECT_EQ(attribute(CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 512u);
  EXPECT_EQ(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), kGranularity);
  const CUdeviceptr second = allocate(3 * kGranularity, stream_);
  ASSERT_CU(cuMemFreeAsync(first, stream_));
  ASSERT_CU(cuMemFreeAsync(second, stream_));
  EXPECT_EQ(attribute(CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0u);
  EXPECT_EQ(attribute(CU_MEMPOOL_ATTR_USED_MEM_HIGH), 3 * kGranularity + 512);
  EXPECT_EQ(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 4 * kGranularity);
  ASSERT_CU(cuStreamSynchronize(stream_));
  EXPECT_EQ(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0u) << "threshold 0: given back at a synchronisation";
  cuuint64_t mark = 0;
  ASSERT_CU(cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &mark));
  EXPECT_EQ(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 0u);
}

TEST_F(PoolTest, ThresholdKeepsAndTrimGivesBack) {
  set_threshold(~0ull);
  const CUdeviceptr first = allocate(4 * kGranularity, stream_);
  ASSERT_CU(cuMemFreeAsync(first, stream_));
  ASSERT_CU(cuMemPoolTrimTo(pool_, 0));
  EXPECT_EQ(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 4 * kGranularity) << "the free has not ended";
  ASSERT_CU(cuStreamSynchronize(stream_));
  EXPECT_EQ(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 4 * kGranularity);
  ASSERT_CU(cuMemPoolTrimTo(pool_, 0));
  EXPECT_EQ(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0u);
}

TEST_F(PoolTest, MixedFrees) {
  const CUdeviceptr pooled = allocate(kMiB, stream_);
  EXPECT_CU(cuMemFree(pooled));
  EXPECT_EQ(attribute(CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0u);
  CUdeviceptr plain = 0;
  ASSERT_CU(cuMemAlloc(&plain, kMiB));
  EXPECT_EQ(cuMemFreeAsync(plain, stream_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PoolTest, OwnPoolsAndTheirPointers) {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  CUmemoryPool own = nullptr;
  ASSERT_CU(cuMemPoolCreate(&own, &props));
  CUdeviceptr address = 0;
  ASSERT_CU(cuMemAllocFromPoolAsync(&address, kMiB, own, stream_));
  CUmemoryPool found = nullptr;
  ASSERT_CU(cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address));
  EXPECT_EQ(found, own);
  const std::uint64_t used = simgpu_used_bytes();
  ASSERT_CU(cuMemPoolDestroy(own));
  EXPECT_EQ(simgpu_used_bytes(), used) << "a destroyed pool lives until its last block is freed";
  ASSERT_CU(cuMemFreeAsync(address, stream_));
  ASSERT_CU(cuStreamSynchronize(stream_));
  EXPECT_EQ(simgpu_used_bytes(), used - kMiB);
  EXPECT_EQ(cuMemAllocFromPoolAsync(&address, kMiB, own, stream_), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace simgpu
