// Virtual time, to the nanosecond. Profile `test`: link 10 bytes/ns each way, memory 100 bytes/ns, 1000
// instructions/ns, latencies 1000 ns; a launch or copy call costs 500 ns, an event call 200, a synchronisation 500.

#include <cmath>

#include "tests/simgpu/tests/fixture.h"

namespace simgpu {
namespace {

constexpr std::uint64_t kBytes = kMiB;
constexpr std::uint64_t kLink = 104'858;  // 1 MiB at 10 bytes/ns, rounded up
constexpr std::uint64_t kWork = 100'000'000, kWorkTime = 100'000;

class TimeTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    kernels_ = std::make_unique<Kernels>();
    ASSERT_CU(cuMemAlloc(&device_, kBytes));
    ASSERT_CU(cuMemHostAlloc(&host_, kBytes, 0));
    ASSERT_CU(cuMemHostAlloc(&host2_, kBytes, 0));
    ASSERT_CU(cuStreamCreate(&a_, CU_STREAM_NON_BLOCKING));
    ASSERT_CU(cuStreamCreate(&b_, CU_STREAM_NON_BLOCKING));
    start_ = simgpu_virtual_ns();
  }
  // The clock after a synchronisation that was reached before the work ended.
  std::uint64_t finish() {
    EXPECT_CU(cuCtxSynchronize());
    return simgpu_virtual_ns() - start_;
  }
  std::unique_ptr<Kernels> kernels_;
  CUdeviceptr device_ = 0;
  void *host_ = nullptr, *host2_ = nullptr;
  CUstream a_ = nullptr, b_ = nullptr;
  std::uint64_t start_ = 0;
};

TEST_F(TimeTest, CopyIsLatencyPlusBytesOverLink) {
  ASSERT_CU(cuMemcpyHtoDAsync(device_, host_, kBytes, a_));
  EXPECT_EQ(simgpu_virtual_ns() - start_, 500u);
  EXPECT_EQ(finish(), 500 + 1'000 + kLink);
}

TEST_F(TimeTest, KernelIsTheGreaterOfWorkAndTraffic) {
  ASSERT_CU(kernels_->run_spend(kWork, a_));
  EXPECT_EQ(finish(), 500 + 1'000 + kWorkTime);
  start_ = simgpu_virtual_ns();
  ASSERT_CU(kernels_->run_fill(device_, 1, kBytes / 4, a_));
  EXPECT_EQ(finish(), 500 + 1'000 + 10'486u);
}

TEST_F(TimeTest, CopyAndKernelOverlap) {
  ASSERT_CU(kernels_->run_spend(kWork, a_));
  ASSERT_CU(cuMemcpyHtoDAsync(device_, host_, kBytes, b_));
  EXPECT_EQ(finish(), 1'000 + 1'000 + kLink);
}

TEST_F(TimeTest, OneStreamDoesNotOverlap) {
  ASSERT_CU(kernels_->run_spend(kWork, a_));
  ASSERT_CU(cuMemcpyHtoDAsync(device_, host_, kBytes, a_));
  EXPECT_EQ(finish(), 500 + 1'000 + kWorkTime + 1'000 + kLink);
}

TEST_F(TimeTest, KernelsOfTwoStreamsShareTheDevice) {
  ASSERT_CU(kernels_->run_spend(kWork, a_));
  ASSERT_CU(kernels_->run_spend(kWork, b_));
  EXPECT_EQ(finish(), 500 + 2 * (1'000 + kWorkTime));
}

TEST_F(TimeTest, AShortKernelFillsTheGapBeforeAWaitingOne) {
  ASSERT_CU(cuMemcpyHtoDAsync(device_, host_, kBytes, a_));  // until 106358
  ASSERT_CU(kernels_->run_spend(kWork, a_));                 // from 106358
  ASSERT_CU(kernels_->run_spend(kWork / 2, b_));             // from 1500, in the gap
  EXPECT_EQ(finish(), 500 + 1'000 + kLink + 1'000 + kWorkTime);
}

TEST_F(TimeTest, TransfersBothWaysSlowEachOther) {
  ASSERT_CU(cuMemcpyHtoDAsync(device_, host_, kBytes, a_));   // 500 to 106358
  ASSERT_CU(cuMemcpyDtoHAsync(host2_, device_, kBytes, b_));  // from 1000; moves from 2000, at half rate until 106358
  const std::uint64_t first_end = 500 + 1'000 + kLink;
  const std::uint64_t moved = (first_end - 2'000) / 2;
  EXPECT_EQ(finish(), first_end + kLink - moved);
}

TEST_F(TimeTest, EventsReportVirtualTime) {
  CUevent before = nullptr, after = nullptr;
  ASSERT_CU(cuEventCreate(&before, 0));
  ASSERT_CU(cuEventCreate(&after, 0));
  ASSERT_CU(cuEventRecord(before, a_));
  ASSERT_CU(kernels_->run_spend(kWork, a_));
  ASSERT_CU(cuEventRecord(after, a_));
  float ms = 0;
  EXPECT_EQ(cuEventElapsedTime(&ms, before, after), CUDA_ERROR_NOT_READY);
  ASSERT_CU(cuEventSynchronize(after));
  ASSERT_CU(cuEventElapsedTime(&ms, before, after));
  EXPECT_EQ(std::llround(ms * 1e6), static_cast<long long>(500 + 1'000 + kWorkTime));
}

TEST_F(TimeTest, EventErrors) {
  CUevent timed = nullptr, untimed = nullptr;
  ASSERT_CU(cuEventCreate(&timed, 0));
  ASSERT_CU(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
  float ms = 0;
  EXPECT_CU(cuEventQuery(timed)) << "never recorded: nothing to wait for";
  EXPECT_EQ(cuEventElapsedTime(&ms, timed, timed), CUDA_ERROR_INVALID_HANDLE);
  ASSERT_CU(cuEventRecord(timed, a_));
  ASSERT_CU(cuEventRecord(untimed, a_));
  ASSERT_CU(cuCtxSynchronize());
  EXPECT_EQ(cuEventElapsedTime(&ms, timed, untimed), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(TimeTest, QueriesAdvanceTheClock) {
  ASSERT_CU(kernels_->run_spend(kWork, a_));  // until 101500; asked at 700, 900, ...
  std::uint64_t polls = 1;
  while (cuStreamQuery(a_) == CUDA_ERROR_NOT_READY) ++polls;
  EXPECT_EQ(polls, (101'500 - 500) / 200u);
}

TEST_F(TimeTest, PageableCopiesAreSlowAndHoldTheHost) {
  std::vector<char> pageable(kBytes);
  ASSERT_CU(cuMemcpyHtoDAsync(device_, pageable.data(), kBytes, a_));
  EXPECT_EQ(simgpu_virtual_ns() - start_, 500 + kLink) << "staging, at 10 bytes/ns";
  EXPECT_EQ(finish(), 500 + kLink + 1'000 + 209'716);
  start_ = simgpu_virtual_ns();
  ASSERT_CU(cuMemcpyDtoHAsync(pageable.data(), device_, kBytes, a_));
  EXPECT_EQ(simgpu_virtual_ns() - start_, 500 + 1'000 + 209'716u) << "waits for the copy";
}

TEST_F(TimeTest, AFullQueueHoldsTheHost) {
  for (int i = 0; i < 64; ++i) ASSERT_CU(kernels_->run_spend(kWork, a_));
  EXPECT_EQ(simgpu_virtual_ns() - start_, 64 * 500u);
  ASSERT_CU(kernels_->run_spend(kWork, a_));
  EXPECT_EQ(simgpu_virtual_ns() - start_, 500 + 1'000 + kWorkTime) << "until the first has ended";
}

TEST_F(TimeTest, CopiesOnTheDeviceAndMemsetsDoNotHoldTheHost) {
  CUdeviceptr other = 0;
  ASSERT_CU(cuMemAlloc(&other, kBytes));
  start_ = simgpu_virtual_ns();
  ASSERT_CU(cuMemcpyDtoD(other, device_, kBytes));
  ASSERT_CU(cuMemsetD8(other, 0, kBytes));
  EXPECT_EQ(simgpu_virtual_ns() - start_, 1'000u);
  EXPECT_EQ(finish(), 500 + 1'000 + 20'972 + 1'000 + 10'486u);
}

}  // namespace
}  // namespace simgpu
