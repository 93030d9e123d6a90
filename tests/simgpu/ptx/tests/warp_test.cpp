#include "tests/simgpu/ptx/tests/kernel_runner.h"

namespace simgpu::ptx {
namespace {

constexpr int kColumns = 12;

/// What column `column` must hold for `lane` of a warp with all its lanes.
int expected(const std::vector<int>& v, int lane, int column) {
  const auto at = [&](int i) { return v[static_cast<std::size_t>(i)]; };
  const auto mask_of = [&](auto holds) {
    unsigned mask = 0;
    for (int i = 0; i < 32; ++i) mask |= unsigned{holds(i)} << i;
    return static_cast<int>(mask);
  };
  const auto all = [&](auto holds) { return mask_of(holds) == -1; };
  switch (column) {
    case 0:
      return at(lane == 0 ? 0 : lane - 1);
    case 1:
      return at(lane * 7 % 32);
    case 2:
      return at(lane % 8 + 3 < 8 ? lane + 3 : lane);
    case 3:
      return at(lane ^ 5);
    case 4:
      return at(lane / 4 * 4 + (lane + 1) % 4);
    case 5:
      return mask_of([&](int i) { return (at(i) & 1) != 0; });
    case 6:
      return int{mask_of([&](int i) { return at(i) == 77; }) != 0} | all([&](int i) { return at(i) >= 0; }) << 1 |
             all([&](int i) { return at(i) > 5; }) << 2;
    case 7:
      return mask_of([&](int i) { return at(i) % 5 == at(lane) % 5; });
    case 8:
      return lane < 10 ? at(lane ^ 1) + 0x3ff : at(lane + 2 < 32 ? lane + 2 : lane);
    // All lanes that still loop go together; the first of them is lane 1, then lane 2.
    case 9:
      return (lane % 3 > 0 ? at(1) : 0) + (lane % 3 > 1 ? at(2) : 0);
    case 10:
      return at(lane ^ 1) + (lane ^ 1);
    default:
      return lane < 24 ? 0xffffff : -1;
  }
}

TEST(Warps, OperationsWithAllLanesSomeAndPartedOnes) {
  KernelRunner runner(read_test_file("warp_kernels.ptx"));
  std::vector<int> values(192);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i * 37 % 101);
  const auto in = runner.upload(values);
  const auto out = runner.upload(std::vector<int>(values.size() * kColumns, -1));
  runner.launch("warp_operations", shape(2, 96), in, out, kColumns);
  const auto results = WindowMemory::view<int>(out, values.size() * kColumns);
  for (std::size_t warp = 0; warp < 6; ++warp) {
    const std::vector<int> lanes(values.begin() + static_cast<std::ptrdiff_t>(warp) * 32,
                                 values.begin() + static_cast<std::ptrdiff_t>(warp + 1) * 32);
    for (int lane = 0; lane < 32; ++lane)
      for (int column = 0; column < kColumns; ++column)
        ASSERT_EQ(results[(warp * 32 + static_cast<std::size_t>(lane)) * kColumns + static_cast<std::size_t>(column)],
                  expected(lanes, lane, column))
            << "warp " << warp << " lane " << lane << " column " << column;
  }
}

TEST(Warps, LanesThatDoNotExistTakeNoPart) {
  KernelRunner runner(read_test_file("warp_kernels.ptx"));
  const auto in = runner.upload(std::vector<int>(40, 1));
  const auto out = runner.upload(std::vector<int>(40 * kColumns, -1));
  runner.launch("warp_operations", shape(1, 40), in, out, kColumns);
  EXPECT_EQ(WindowMemory::view<int>(out, 40 * kColumns)[5], -1);
  EXPECT_EQ(WindowMemory::view<int>(out, 40 * kColumns)[32 * kColumns + 5], 0xff);
}

TEST(Warps, BarriersOfAWarp) {
  KernelRunner runner(read_test_file("warp_kernels.ptx"));
  std::vector<int> values(64);
  for (int i = 0; i < 64; ++i) values[static_cast<std::size_t>(i)] = i * i;
  const auto data = runner.upload(values);
  runner.launch("sync_warp", shape(1, 64), data);
  for (int i = 0; i < 64; ++i) {
    const int first = (i & 32) + (i & 15);
    EXPECT_EQ(WindowMemory::view<int>(data, 64)[static_cast<std::size_t>(i)],
              first * first + (first + 16) * (first + 16))
        << i;
  }
}

// The forms that sm_75 compilers do not emit.
TEST(Warps, Reductions) {
  KernelRunner runner(R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry reduce(.param .u64 out)
{
  .reg .b32 v, r; .reg .b64 d, o; .reg .pred p;
  mov.u32 v, %laneid;
  add.s32 v, v, -3;
  mul.wide.u32 o, %tid.x, 16;
  ld.param.u64 d, [out];
  add.s64 d, d, o;
  redux.sync.add.s32 r, v, -1;
  st.global.u32 [d], r;
  redux.sync.min.s32 r, v, -1;
  st.global.u32 [d+4], r;
  redux.sync.max.u32 r, v, -1;
  st.global.u32 [d+8], r;
  redux.sync.xor.b32 r, v, -1;
  st.global.u32 [d+12], r;
})");
  const auto out = runner.memory.allocate(32 * 16, 16);
  runner.launch("reduce", shape(1, 32), out);
  int parity = 0;
  for (int lane = 0; lane < 32; ++lane) parity ^= lane - 3;
  for (std::size_t lane = 0; lane < 32; ++lane) {
    const auto row = WindowMemory::view<int>(out, 128).subspan(lane * 4, 4);
    EXPECT_EQ(row[0], 31 * 16 - 3 * 32);
    EXPECT_EQ(row[1], -3);
    EXPECT_EQ(row[2], -1);
    EXPECT_EQ(row[3], parity);
  }
}

}  // namespace
}  // namespace simgpu::ptx
