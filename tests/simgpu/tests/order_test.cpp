// The order of streams, events and the legacy stream, under many seeds: a missing wait shows for some seed, a present
// one never.

#include <functional>
#include <set>

#include "tests/simgpu/tests/fixture.h"

namespace simgpu {
namespace {

extern "C" CUresult cuMemsetD32Async_ptsz(CUdeviceptr, unsigned, size_t, CUstream);

constexpr std::uint32_t kOld = 1, kNew = 2;

struct Scene {
  Kernels kernels;
  CUdeviceptr buffer = 0;
  std::uint32_t* host = nullptr;
  CUstream a = nullptr, b = nullptr;
  CUevent event = nullptr;

  explicit Scene(unsigned flags) {
    EXPECT_CU(cuMemAlloc(&buffer, 4));
    EXPECT_CU(cuMemHostAlloc(reinterpret_cast<void**>(&host), 4, 0));
    EXPECT_CU(cuStreamCreate(&a, flags));
    EXPECT_CU(cuStreamCreate(&b, flags));
    EXPECT_CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    EXPECT_CU(cuMemsetD32(buffer, kOld, 1));
    EXPECT_CU(cuCtxSynchronize());
    *host = 0;
  }
};

// What the scenario left in the host word, for seeds 1 to 20.
std::set<std::uint32_t> outcomes(unsigned flags, const std::function<void(Scene&)>& scenario) {
  std::set<std::uint32_t> seen;
  for (int seed = 1; seed <= 20; ++seed) {
    start_device({{"SIMGPU_SEED", std::to_string(seed)}});
    Scene scene(flags);
    scenario(scene);
    seen.insert(*scene.host);
  }
  return seen;
}

const std::set<std::uint32_t> kRight = {kNew}, kEither = {kOld, kNew};

TEST(OrderTest, AWaitOnAnEventOrdersTwoStreams) {
  const auto scenario = [](bool waits) {
    return [waits](Scene& s) {
      ASSERT_CU(s.kernels.run_fill(s.buffer, kNew, 1, s.a));
      ASSERT_CU(cuEventRecord(s.event, s.a));
      if (waits) {
        ASSERT_CU(cuStreamWaitEvent(s.b, s.event, 0));
      }
      ASSERT_CU(cuMemcpyDtoHAsync(s.host, s.buffer, 4, s.b));
      ASSERT_CU(cuStreamSynchronize(s.b));
    };
  };
  EXPECT_EQ(outcomes(CU_STREAM_NON_BLOCKING, scenario(false)), kEither);
  EXPECT_EQ(outcomes(CU_STREAM_NON_BLOCKING, scenario(true)), kRight);
}

// Work that is long past for the program may still be queued on a device: what depends on it must wait all the same.
TEST(OrderTest, AMissingWaitShowsLongAfterTheOp) {
  const auto scenario = [](bool waits) {
    return [waits](Scene& s) {
      ASSERT_CU(s.kernels.run_fill(s.buffer, kNew, 1, s.a));
      ASSERT_CU(cuEventRecord(s.event, s.a));
      for (int i = 0; i < 50; ++i) ASSERT_CU(s.kernels.run_spend(1, s.a));
      if (waits) {
        ASSERT_CU(cuStreamWaitEvent(s.b, s.event, 0));
      }
      ASSERT_CU(cuMemcpyDtoHAsync(s.host, s.buffer, 4, s.b));
      ASSERT_CU(cuStreamSynchronize(s.b));
    };
  };
  EXPECT_EQ(outcomes(CU_STREAM_NON_BLOCKING, scenario(false)), kEither);
  EXPECT_EQ(outcomes(CU_STREAM_NON_BLOCKING, scenario(true)), kRight);
}

TEST(OrderTest, AnEventStandsForItsNewestRecordAtTheWait) {
  const auto scenario = [](Scene& s) {
    ASSERT_CU(cuEventRecord(s.event, s.a));
    ASSERT_CU(cuStreamWaitEvent(s.b, s.event, 0));
    ASSERT_CU(s.kernels.run_fill(s.buffer, kNew, 1, s.a));
    ASSERT_CU(cuEventRecord(s.event, s.a));
    ASSERT_CU(cuMemcpyDtoHAsync(s.host, s.buffer, 4, s.b));
    ASSERT_CU(cuStreamSynchronize(s.b));
  };
  EXPECT_EQ(outcomes(CU_STREAM_NON_BLOCKING, scenario), kEither);
}

TEST(OrderTest, TheLegacyStreamOrdersBlockingStreamsOnly) {
  const auto legacy_then_stream = [](Scene& s) {
    ASSERT_CU(s.kernels.run_fill(s.buffer, kNew, 1, nullptr));
    ASSERT_CU(cuMemcpyDtoHAsync(s.host, s.buffer, 4, s.b));
    ASSERT_CU(cuStreamSynchronize(s.b));
  };
  const auto stream_then_legacy = [](Scene& s) {
    ASSERT_CU(s.kernels.run_fill(s.buffer, kNew, 1, s.a));
    ASSERT_CU(cuMemcpyDtoH(s.host, s.buffer, 4));
  };
  const auto through_legacy = [](Scene& s) {
    ASSERT_CU(s.kernels.run_fill(s.buffer, kNew, 1, s.a));
    ASSERT_CU(s.kernels.run_spend(1, CU_STREAM_LEGACY));
    ASSERT_CU(cuMemcpyDtoHAsync(s.host, s.buffer, 4, s.b));
    ASSERT_CU(cuStreamSynchronize(s.b));
  };
  for (const auto& scenario :
       {std::function<void(Scene&)>(legacy_then_stream), std::function<void(Scene&)>(stream_then_legacy),
        std::function<void(Scene&)>(through_legacy)}) {
    EXPECT_EQ(outcomes(CU_STREAM_DEFAULT, scenario), kRight);
    EXPECT_EQ(outcomes(CU_STREAM_NON_BLOCKING, scenario), kEither);
  }
}

TEST(OrderTest, ThePerThreadStreamIsABlockingStreamOfItsOwn) {
  const auto per_thread_then_legacy = [](Scene& s) {
    ASSERT_CU(cuMemsetD32Async_ptsz(s.buffer, kNew, 1, nullptr));
    ASSERT_CU(cuMemcpyDtoH(s.host, s.buffer, 4));
  };
  EXPECT_EQ(outcomes(CU_STREAM_NON_BLOCKING, per_thread_then_legacy), kRight);
  const auto per_thread_then_stream = [](Scene& s) {
    ASSERT_CU(cuMemsetD32Async(s.buffer, kNew, 1, CU_STREAM_PER_THREAD));
    ASSERT_CU(cuMemcpyDtoHAsync(s.host, s.buffer, 4, s.b));
    ASSERT_CU(cuStreamSynchronize(s.b));
  };
  EXPECT_EQ(outcomes(CU_STREAM_DEFAULT, per_thread_then_stream), kEither);
}

TEST(OrderTest, AsynchronousCopiesToTheHostAreLate) {
  const auto no_wait = [](Scene& s) {
    *s.host = kOld;
    ASSERT_CU(s.kernels.run_fill(s.buffer, kNew, 1, s.a));
    ASSERT_CU(cuMemcpyDtoHAsync(s.host, s.buffer, 4, s.a));
  };
  EXPECT_EQ(outcomes(CU_STREAM_DEFAULT, no_wait), kEither);
}

TEST(OrderTest, PageableSourcesAreReadAtTheCallAndLockedOnesLate) {
  const auto scenario = [](bool locked) {
    return [locked](Scene& s) {
      std::uint32_t pageable = kNew;
      std::uint32_t* const source = locked ? s.host : &pageable;
      *source = kNew;
      ASSERT_CU(cuMemcpyHtoDAsync(s.buffer, source, 4, s.a));
      *source = kOld;
      ASSERT_CU(cuStreamSynchronize(s.a));
      ASSERT_CU(cuMemcpyDtoH(s.host, s.buffer, 4));
    };
  };
  EXPECT_EQ(outcomes(CU_STREAM_DEFAULT, scenario(false)), kRight);
  EXPECT_EQ(outcomes(CU_STREAM_DEFAULT, scenario(true)), kEither);
}

TEST(OrderTest, AStreamOutlivesItsHandle) {
  const auto scenario = [](Scene& s) {
    ASSERT_CU(s.kernels.run_fill(s.buffer, kNew, 1, s.a));
    ASSERT_CU(cuMemcpyDtoHAsync(s.host, s.buffer, 4, s.a));
    ASSERT_CU(cuStreamDestroy(s.a));
    ASSERT_CU(cuCtxSynchronize());
  };
  EXPECT_EQ(outcomes(CU_STREAM_NON_BLOCKING, scenario), kRight);
}

TEST(OrderTest, HostFunctionsRunInOrderAndMayNotCallTheDriver) {
  struct Seen {
    Scene* scene;
    std::uint32_t word;
    CUresult inner;
  };
  for (int seed = 0; seed <= 5; ++seed) {
    start_device({{"SIMGPU_SEED", std::to_string(seed)}});
    Scene s(CU_STREAM_NON_BLOCKING);
    Seen seen{&s, 0, CUDA_SUCCESS};
    const auto look = [](void* data) {
      auto& out = *static_cast<Seen*>(data);
      out.word = *out.scene->host;
      out.inner = cuCtxSynchronize();
    };
    ASSERT_CU(s.kernels.run_fill(s.buffer, kNew, 1, s.a));
    ASSERT_CU(cuMemcpyDtoHAsync(s.host, s.buffer, 4, s.a));
    ASSERT_CU(cuLaunchHostFunc(s.a, look, &seen));
    EXPECT_EQ(seen.word, 0u) << "never inside the submission";
    ASSERT_CU(cuStreamSynchronize(s.a));
    EXPECT_EQ(seen.word, kNew);
    EXPECT_EQ(seen.inner, CUDA_ERROR_NOT_PERMITTED);
  }
}

TEST(OrderTest, PollingComesToAnEndUnderEverySeed) {
  for (int seed = 0; seed <= 20; ++seed) {
    start_device({{"SIMGPU_SEED", std::to_string(seed)}});
    Scene s(CU_STREAM_NON_BLOCKING);
    ASSERT_CU(s.kernels.run_spend(10'000'000, s.a));
    ASSERT_CU(cuEventRecord(s.event, s.a));
    EXPECT_EQ(cuEventQuery(s.event), CUDA_ERROR_NOT_READY);
    int polls = 0;
    while (cuEventQuery(s.event) == CUDA_ERROR_NOT_READY && polls < 1000) ++polls;
    EXPECT_LT(polls, 1000);
  }
}

}  // namespace
}  // namespace simgpu
