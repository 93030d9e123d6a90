// What a small allocation and its free cost in the slabs, with other small blocks around.

#include "runtime/slabs.h"

#include <benchmark/benchmark.h>

namespace {

constexpr CUdeviceptr kSlab = 0x2000'0000'0000;
constexpr std::size_t kSlabBytes = std::size_t{2} << 20;
constexpr std::size_t kBlockBytes = 4096;

/// range(0): blocks that live all the time; every second one is free again.
void take_and_give_back(benchmark::State& state) {
  tensorpager::Slabs slabs;
  slabs.add_slab(kSlab, kSlabBytes);
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    const auto kept = slabs.take(kBlockBytes), freed = slabs.take(kBlockBytes);
    if (!kept || !freed) return state.SkipWithError("the slab is full");
    slabs.give_back(freed->address, {});
  }
  for (auto _ : state) {
    const auto block = slabs.take(kBlockBytes);
    benchmark::DoNotOptimize(block);
    slabs.give_back(block->address, {});
  }
}
BENCHMARK(take_and_give_back)->Arg(0)->Arg(16)->Arg(128);

}  // namespace
