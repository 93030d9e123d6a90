#include <cstdlib>
#include <thread>

#include "tests/contract/pager_fixture.h"

namespace tensorpager::test {
namespace {

using PagerContract = PagerTest;

TEST_F(PagerContract, AnAllocationTakesNoMemoryBeforeItsFirstUse) {
  Pager& pager = attach(8);
  Job job(pager, 1);
  const std::size_t before = used_now();
  JobTensor* tensor = job.alloc(4 * kGrain, job.stream(0));
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(used_now(), before);
  EXPECT_EQ(job.write(*tensor, job.stream(0)), CUDA_SUCCESS);
  EXPECT_EQ(used_now(), before + 4 * kGrain);
}

TEST_F(PagerContract, TwiceTheBudgetGoesThroughWithEveryByteRight) {
  Pager& pager = attach(8);
  Job job(pager, 1);
  for (int i = 0; i < 8; ++i) {
    JobTensor* tensor = job.alloc(2 * kGrain - 4096 * static_cast<std::size_t>(i % 2), job.stream(0));
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(job.write(*tensor, job.stream(0)), CUDA_SUCCESS);
    EXPECT_LE(used_now(), limit_);
  }
  job.check_all();
  EXPECT_LE(used_now(), limit_);
  EXPECT_GT(statistics().evictions.get(), 0u);
}

TEST_F(PagerContract, ALoopThatFitsMapsAndCopiesNothingAfterItsFirstStep) {
  Pager& pager = attach(16);
  Job job(pager, 2);
  const auto step = [&] {
    std::vector<JobTensor*> live;
    for (std::size_t i = 0; i < 5; ++i) {
      live.push_back(job.alloc((i + 1) * kGrain, job.stream(i)));
      EXPECT_EQ(job.write(*live.back(), job.stream(i)), CUDA_SUCCESS);
    }
    for (std::size_t i = 0; i < 5; ++i) job.release(*live[4 - i], job.stream(i));
  };
  step();
  step();
  const auto maps = statistics().maps.get(), unmaps = statistics().unmaps.get(),
             evictions = statistics().evictions.get();
  for (int i = 0; i < 10; ++i) step();
  EXPECT_EQ(statistics().maps.get(), maps);
  EXPECT_EQ(statistics().unmaps.get(), unmaps);
  EXPECT_EQ(statistics().evictions.get(), evictions);
}

TEST_F(PagerContract, AnOpLargerThanTheBudgetIsRefusedAndNothingElse) {
  Pager& pager = attach(4);
  Job job(pager, 1);
  JobTensor* large = job.alloc(5 * kGrain, job.stream(0));
  JobTensor* small = job.alloc(3 * kGrain, job.stream(0));
  ASSERT_NE(large, nullptr);
  ASSERT_NE(small, nullptr);
  EXPECT_EQ(job.write(*small, job.stream(0)), CUDA_SUCCESS);
  EXPECT_EQ(job.write(*large, job.stream(0)), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(job.check(*small, job.stream(0)), CUDA_SUCCESS);
  EXPECT_EQ(job.write(*small, job.stream(0)), CUDA_SUCCESS);
}

TEST_F(PagerContract, TwoOperandsThatFitOnlyOneByOneAreRefused) {
  Pager& pager = attach(4);
  Job job(pager, 1);
  JobTensor* a = job.alloc(3 * kGrain, job.stream(0));
  JobTensor* b = job.alloc(3 * kGrain, job.stream(0));
  EXPECT_EQ(job.write(*a, job.stream(0)), CUDA_SUCCESS);
  EXPECT_EQ(job.write(*b, job.stream(0)), CUDA_SUCCESS);
  EXPECT_EQ(job.copy(*a, *b, job.stream(0)), CUDA_ERROR_OUT_OF_MEMORY);
  job.check_all();
}

TEST_F(PagerContract, AllocationsEndAtBudgetPlusHostAndGoOnAfterAFree) {
  constexpr std::size_t kHostBytes = 512 << 10;
  const std::size_t on_host = kHostBytes / 100 * 98 / HostPool::footprint(kGrain) - 1;  // one to swap through
  Pager& pager = attach(4, kHostBytes);
  Job job(pager, 1);
  while (JobTensor* tensor = job.alloc(kGrain, job.stream(0))) {
    ASSERT_EQ(job.write(*tensor, job.stream(0)), CUDA_SUCCESS);
    ASSERT_LE(job.tensors().size(), 4 + on_host);
  }
  EXPECT_EQ(job.last_error, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(job.tensors().size(), 4 + on_host);
  job.release(*job.tensors()[3], job.stream(0));
  JobTensor* again = job.alloc(kGrain, job.stream(0));
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(job.write(*again, job.stream(0)), CUDA_SUCCESS);
  job.check_all();
}

TEST_F(PagerContract, SmallBlocksShareASlabThatIsGivenBack) {
  Pager& pager = attach(4);
  Job job(pager, 2);
  JobTensor* a = job.alloc(1000, job.stream(0));
  JobTensor* b = job.alloc(3000, job.stream(0));
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(pager.arena().index(a->address), pager.arena().index(b->address));
  EXPECT_EQ(job.write(*a, job.stream(0)), CUDA_SUCCESS);
  EXPECT_EQ(job.write(*b, job.stream(1)), CUDA_SUCCESS);
  job.check_all();
  job.release(*a, job.stream(0));
  job.release(*b, job.stream(1));
  JobTensor* whole = job.alloc(4 * kGrain, job.stream(0));
  ASSERT_NE(whole, nullptr);
  EXPECT_EQ(job.write(*whole, job.stream(0)), CUDA_SUCCESS) << "the slab's chunk must be free again";
}

TEST_F(PagerContract, RoomIsMadeForWhatTheDriverAllocates) {
  Pager& pager = attach(8);
  Job job(pager, 1);
  for (int i = 0; i < 8; ++i) ASSERT_EQ(job.write(*job.alloc(kGrain, job.stream(0)), job.stream(0)), CUDA_SUCCESS);
  EXPECT_TRUE(pager.admit_passed_through(3 * kGrain));
  CUdeviceptr plain = 0;
  ASSERT_EQ(sim_->cuMemAlloc_v2(&plain, 3 * kGrain), CUDA_SUCCESS);
  EXPECT_LE(used_now(), limit_);
  job.check_all();
  EXPECT_LE(used_now(), limit_);
  EXPECT_FALSE(pager.admit_passed_through(6 * kGrain));
  EXPECT_EQ(sim_->cuMemFree_v2(plain), CUDA_SUCCESS);
  pager.passed_through_freed(3 * kGrain);
}

TEST_F(PagerContract, AWrongAddressIsNotFreed) {
  Pager& pager = attach(8);
  Job job(pager, 1);
  JobTensor* tensor = job.alloc(2 * kGrain, job.stream(0));
  const StreamId stream = pager.streams().find({job.stream(0), false});
  EXPECT_EQ(pager.allocator().free(tensor->address + 8, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(pager.allocator().free(tensor->address + 16 * kGrain, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(job.write(*tensor, job.stream(0)), CUDA_SUCCESS);
}

TEST_F(PagerContract, AMixedFreeWaitsForEveryUse) {
  Pager& pager = attach(8);
  Job job(pager, 2);
  CUdeviceptr address = 0;
  const StreamRef stream{job.stream(0), false};
  ASSERT_EQ(pager.allocator().allocate(&address, 2 * kGrain, pager.streams().find(stream)), CUDA_SUCCESS);
  ASSERT_EQ(pager.submit(OpKind::memset, {&address, 1}, stream, false,
                         [&] { return sim_->cuMemsetD32Async(address, 7, 1024, job.stream(0)); }),
            CUDA_SUCCESS);
  EXPECT_EQ(pager.allocator().free_synchronously(address), CUDA_SUCCESS);
  EXPECT_EQ(pager.allocator().free_synchronously(address), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PagerContract, AnotherDeviceIsNotItsBusiness) {
  sim_->restart();
  auto facts = ask_device();
  ASSERT_TRUE(facts.has_value());
  facts->devices = 2;
  auto pager = Pager::attach(*facts, settings(*facts, 8, 1 << 20));
  ASSERT_TRUE(pager.has_value());
  EXPECT_TRUE((*pager)->covers_current_device());
  Driver elsewhere = driver();
  elsewhere.cuCtxGetDevice = [](CUdevice* device) {
    *device = 1;
    return CUDA_SUCCESS;
  };
  replace_driver(&elsewhere);
  EXPECT_FALSE((*pager)->covers_current_device());
  replace_driver(nullptr);
  keep(std::move(*pager));
}

// What lies behind a function of the host goes last: its copy would wait for the function, which may wait for us.
TEST_F(PagerContract, WhatMayWaitForTheHostIsEvictedLast) {
  Pager& pager = attach(8);
  Job job(pager, 2);
  const CUstream blocked = job.stream(0), free = job.stream(1);
  JobTensor* kept = job.alloc(2 * kGrain, blocked);
  pager.streams().note_host_function(pager.streams().find({blocked, false}));
  ASSERT_EQ(job.write(*kept, blocked), CUDA_SUCCESS);
  std::vector<JobTensor*> others;
  for (int i = 0; i < 4; ++i) others.push_back(job.alloc(2 * kGrain, free));
  for (int i = 0; i < 12; ++i) ASSERT_EQ(job.write(*others[static_cast<std::size_t>(i) % 4], free), CUDA_SUCCESS);
  const auto loads = statistics().loads.get();
  EXPECT_EQ(job.write(*kept, blocked), CUDA_SUCCESS);
  EXPECT_EQ(statistics().loads.get(), loads) << "it was evicted although others could be";
  JobTensor* whole = job.alloc(8 * kGrain, free);
  EXPECT_EQ(job.write(*whole, free), CUDA_SUCCESS) << "it may go when nothing else can";
  job.check_all();
}

// A random job on several streams against a model of its bytes; the simulated device runs it in a seeded order.
constexpr std::size_t kGrain = 64 << 10;

void random_job(Pager& pager, unsigned seed, std::size_t limit, const std::function<std::size_t()>& used) {
  std::mt19937 random(seed);
  Job job(pager, 3);
  const auto any = [&] { return job.tensors()[random() % job.tensors().size()].get(); };
  for (int i = 0; i < 300; ++i) {
    const CUstream stream = job.stream(random());
    const auto dice = random() % 100;
    if (job.tensors().size() < 4 || (dice < 15 && job.tensors().size() < 14)) {
      job.alloc(random() % 2 == 0 ? (1 + random() % 4) * kGrain : (1 + random() % 3) * kGrain + 4096, stream);
    } else if (dice < 25) {
      job.release(*any(), stream);
    } else if (dice < 60) {
      EXPECT_EQ(job.write(*any(), stream), CUDA_SUCCESS);
    } else if (dice < 85) {
      JobTensor *to = any(), *from = any();
      if (to != from && to->words >= from->words && from->stamp != 0 && to->words == from->words) {
        EXPECT_EQ(job.copy(*to, *from, stream), CUDA_SUCCESS);
      }
    } else {
      EXPECT_EQ(job.check(*any(), stream), CUDA_SUCCESS);
    }
    ASSERT_LE(used(), limit);
  }
  job.check_all();
}

TEST_F(PagerContract, ThreadsShareTheBudgetAndKeepTheirBytes) {
  for (unsigned seed = 1; seed <= 6 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    setenv("SIMGPU_SEED", std::to_string(seed).c_str(), 1);
    Pager& pager = attach(14);
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread] {
        sim_->make_current();
        random_job(pager, seed * 100 + thread, limit_, [this] { return used_now(); });
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(pager.admit_passed_through(14 * kGrain)) << "nothing may stay claimed";
  }
  unsetenv("SIMGPU_SEED");
}

TEST_F(PagerContract, RoomThatWasMadeIsNotTakenByAnotherThread) {
  Pager& pager = attach(14);
  std::thread pressed([&] {
    sim_->make_current();
    random_job(pager, 1, limit_, [this] { return used_now(); });
  });
  for (int i = 0; i < 200; ++i) {
    CUdeviceptr plain = 0;
    if (!pager.admit_passed_through(2 * kGrain)) continue;
    ASSERT_EQ(sim_->cuMemAlloc_v2(&plain, 2 * kGrain), CUDA_SUCCESS);
    EXPECT_EQ(sim_->cuMemFree_v2(plain), CUDA_SUCCESS);
    pager.passed_through_freed(2 * kGrain);
  }
  pressed.join();
}

TEST_F(PagerContract, RandomJobsKeepEveryByteAndTheBudget) {
  const auto evictions = statistics().evictions.get();
  for (unsigned seed = 1; seed <= 10 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    setenv("SIMGPU_SEED", std::to_string(seed).c_str(), 1);
    Pager& pager = attach(10);
    random_job(pager, seed, limit_, [this] { return used_now(); });
    EXPECT_TRUE(pager.admit_passed_through(10 * kGrain)) << "all tensors are freed, so all chunks can be given back";
  }
  unsetenv("SIMGPU_SEED");
  EXPECT_GT(statistics().evictions.get(), evictions + 100);
}

}  // namespace
}  // namespace tensorpager::test
