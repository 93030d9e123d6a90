// Every driver call of the runtime's own can fail. The op may then be refused; no byte may be wrong, nothing may stay
// stuck, and the next op must go through.

#include "tests/contract/failing_driver.h"
#include "tests/contract/pager_fixture.h"

namespace tensorpager::test {
namespace {

using PagerFailure = PagerTest;

/// Six tensors of two granules in room for six, written and copied in turn. Returns how many ops were refused.
int run_pressed_job(Job& job) {
  int refused = 0;
  for (std::size_t i = 0; i < 6; ++i) {
    JobTensor* tensor = job.alloc(2 * (64 << 10), job.stream(i));
    if (tensor == nullptr || job.write(*tensor, job.stream(i)) != CUDA_SUCCESS) ++refused;
  }
  for (std::size_t i = 0; i + 1 < job.tensors().size(); ++i) {
    if (job.copy(*job.tensors()[i], *job.tensors()[i + 1], job.stream(i)) != CUDA_SUCCESS) ++refused;
  }
  return refused;
}

void survive(Pager& pager, std::string_view name, int nth, CUresult code) {
  Job job(pager, 2);
  {
    const FailingDriver failing(name, nth, code);
    run_pressed_job(job);
    SCOPED_TRACE(failing.failed());
    job.check_all();
  }
  EXPECT_EQ(run_pressed_job(job), 0) << "after the failure all goes on";
  job.check_all();
}

TEST_F(PagerFailure, EachCallMayFailOnce) {
  int total = 0;
  {
    Job job(attach(6), 2);
    const FailingDriver counting("", 0, CUDA_SUCCESS);
    EXPECT_EQ(run_pressed_job(job), 0);
    total = counting.calls();
  }
  ASSERT_GT(total, 40);
  for (int nth = 1; nth <= total && !HasFailure(); ++nth) {
    SCOPED_TRACE(nth);
    survive(attach(6), "", nth, CUDA_ERROR_UNKNOWN);
  }
}

TEST_F(PagerFailure, AChunkThatWasReleasedIsNotUsedAgain) {
  Pager& pager = attach(6);
  Job job(pager, 1);
  EXPECT_EQ(run_pressed_job(job), 0);
  {
    const FailingDriver failing("cuMemRelease", 2, CUDA_ERROR_UNKNOWN);
    EXPECT_FALSE(pager.admit_passed_through(3 * kGrain));
    EXPECT_EQ(failing.failed(), "cuMemRelease");
  }
  EXPECT_EQ(run_pressed_job(job), 0);
  job.check_all();
  EXPECT_TRUE(pager.admit_passed_through(3 * kGrain));
}

TEST_F(PagerFailure, AFullDeviceMeansFewerChunks) {
  Pager& pager = attach(6);
  survive(pager, "cuMemCreate", 4, CUDA_ERROR_OUT_OF_MEMORY);
}

}  // namespace
}  // namespace tensorpager::test
