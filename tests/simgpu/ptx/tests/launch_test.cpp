// Launches as the device sees them: faults, costs, workers, variables, natives.

#include <random>

#include "tests/simgpu/ptx/tests/kernel_runner.h"

namespace simgpu::ptx {
namespace {

constexpr char kModule[] = R"(
.version 7.5
.target sm_75
.address_size 64
.global .align 4 .u32 counter = 5;
.const .align 4 .b8 table[8] = {1, 0, 0, 0, 2, 0, 0, 0};
.extern .shared .align 16 .b8 dynamic[];

.visible .entry touch(.param .u64 address)
{
  .reg .b64 %rd<2>; .reg .f32 %f<2>;
  ld.param.u64 %rd1, [address];
  ld.global.f32 %f1, [%rd1];
  add.f32 %f1, %f1, 0f3F800000;
  st.global.f32 [%rd1], %f1;
  ret;
}
.visible .entry stray_in_shared(.param .u32 offset)
{
  .reg .b32 %r<2>;
  .shared .align 4 .b8 own[16];
  ld.param.u32 %r1, [offset];
  st.shared.u32 [%r1], %r1;
  mov.u32 %r1, own;
  ret;
}
.visible .entry spin() { L: bra L; }
.visible .entry give_up() { trap; }
.visible .entry deadlock()
{
  .reg .pred p; .reg .b32 r;
  mov.u32 r, %tid.x;
  setp.eq.u32 p, r, 0;
  @p bar.sync 1;
  @!p bar.sync 2;
  ret;
}
.visible .entry early_exit(.param .u64 out)
{
  .reg .pred p; .reg .b32 %r<3>; .reg .b64 %rd<3>;
  mov.u32 %r1, %tid.x;
  setp.gt.u32 p, %r1, 40;
  @p exit;
  bar.sync 0;
  ld.param.u64 %rd1, [out];
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd1, %rd1, %rd2;
  st.global.u32 [%rd1], %r1;
  ret;
}
.visible .entry count(.param .u64 out)
{
  .reg .b32 %r<4>; .reg .b64 %rd<3>;
  mov.u64 %rd1, counter;
  atom.global.add.u32 %r1, [%rd1], 1;
  mov.u64 %rd2, table;
  ld.const.u32 %r2, [%rd2+4];
  add.u32 %r1, %r1, %r2;
  ld.param.u64 %rd1, [out];
  st.global.u32 [%rd1], %r1;
  ret;
}
.visible .entry reverse(.param .u64 data)
{
  .reg .b32 %r<6>; .reg .b64 %rd<4>;
  .local .align 4 .b8 depot[8];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ntid.x;
  ld.param.u64 %rd1, [data];
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd2, %rd1, %rd2;
  ld.global.u32 %r3, [%rd2];
  mov.u64 %rd3, depot;
  st.local.u32 [%rd3+4], %r3;
  shl.b32 %r4, %r1, 2;
  mov.u32 %r5, dynamic;
  add.u32 %r4, %r5, %r4;
  ld.local.u32 %r3, [%rd3+4];
  st.shared.u32 [%r4], %r3;
  bar.sync 0;
  sub.u32 %r4, %r2, %r1;
  shl.b32 %r4, %r4, 2;
  add.u32 %r4, %r5, %r4;
  // Through a generic address, one word before.
  cvt.u64.u32 %rd3, %r4;
  cvta.shared.u64 %rd3, %rd3;
  ld.u32 %r3, [%rd3+-4];
  st.global.u32 [%rd2], %r3;
  ret;
}
.visible .entry vote_all_barrier(.param .u64 out)
{
  .reg .pred %p<3>; .reg .b32 %r<3>; .reg .b64 %rd<2>;
  mov.u32 %r1, %tid.x;
  setp.lt.u32 %p1, %r1, 50;
  bar.red.popc.u32 %r2, 0, %p1;
  ld.param.u64 %rd1, [out];
  st.global.u32 [%rd1], %r2;
  bar.red.and.pred %p2, 0, %p1;
  selp.u32 %r2, 1, 0, %p2;
  st.global.u32 [%rd1+4], %r2;
  bar.red.or.pred %p2, 0, !%p1;
  selp.u32 %r2, 1, 0, %p2;
  st.global.u32 [%rd1+8], %r2;
  ret;
}
)";

class Launches : public testing::Test {
 protected:
  Launches() : runner(kModule, options()) {}

  static LoaderOptions options() {
    auto options = test_options();
    options.time_limit = std::chrono::milliseconds(200);
    return options;
  }

  KernelRunner runner;
};

TEST_F(Launches, IllegalAddressesAreReportedAsTheProgramSeesThem) {
  const std::uint64_t nowhere = kWindowBase + 0x12345678;
  const auto fault = runner.try_launch("touch", shape(1, 1), nowhere);
  ASSERT_FALSE(fault.has_value());
  EXPECT_EQ(fault.error().kind, LaunchFault::Kind::illegal_address);
  EXPECT_EQ(fault.error().address, nowhere);
  EXPECT_NE(fault.error().detail.find("kernel touch"), std::string::npos) << fault.error().detail;
  // The executor stays usable.
  const auto fine = runner.upload(std::vector<float>{1});
  EXPECT_TRUE(runner.try_launch("touch", shape(1, 1), fine).has_value());
  EXPECT_EQ(runner.try_launch("touch", shape(1, 1), fine + 4096).error().address, fine + 4096);
}

TEST_F(Launches, AddressesThatNoProcessorHasFaultToo) {
  const auto fault = runner.try_launch("touch", shape(1, 1), std::uint64_t{0xdead'0000'0000'0000});
  ASSERT_FALSE(fault.has_value());
  EXPECT_EQ(fault.error().kind, LaunchFault::Kind::illegal_address);
}

TEST_F(Launches, SharedMemoryEndsWhereItEnds) {
  EXPECT_TRUE(runner.try_launch("stray_in_shared", shape(1, 1), 12U).has_value());
  for (const std::uint32_t offset : {1U << 20, 0xfffffff0U}) {
    const auto fault = runner.try_launch("stray_in_shared", shape(1, 1), offset);
    ASSERT_FALSE(fault.has_value());
    EXPECT_NE(fault.error().detail.find("shared memory at offset"), std::string::npos) << fault.error().detail;
  }
}

TEST_F(Launches, EndlessLoopsAndTrapsEnd) {
  EXPECT_EQ(runner.try_launch("spin", shape(1, 1)).error().kind, LaunchFault::Kind::timeout);
  EXPECT_EQ(runner.try_launch("spin", shape(64, 64)).error().kind, LaunchFault::Kind::timeout);
  EXPECT_EQ(runner.try_launch("give_up", shape(2, 32)).error().kind, LaunchFault::Kind::trap);
  EXPECT_EQ(runner.try_launch("deadlock", shape(1, 32)).error().kind, LaunchFault::Kind::timeout);
}

TEST_F(Launches, BarriersWaitForLiveThreadsOnly) {
  const auto out = runner.memory.allocate(400, 4);
  runner.launch("early_exit", shape(1, 96), out);
  for (unsigned i = 0; i < 96; ++i) EXPECT_EQ(WindowMemory::view<unsigned>(out, 96)[i], i <= 40 ? i : 0);
}

TEST_F(Launches, BarriersReduce) {
  const auto out = runner.memory.allocate(12, 4);
  runner.launch("vote_all_barrier", shape(1, 96), out);
  EXPECT_EQ(WindowMemory::view<unsigned>(out, 3)[0], 50U);
  EXPECT_EQ(WindowMemory::view<unsigned>(out, 3)[1], 0U);
  EXPECT_EQ(WindowMemory::view<unsigned>(out, 3)[2], 1U);
}

TEST_F(Launches, VariablesAreInitialisedAndFound) {
  const auto globals = runner.module().globals();
  ASSERT_EQ(globals.size(), 2U);
  EXPECT_EQ(globals[0].name, "counter");
  EXPECT_EQ(globals[0].bytes, 4U);
  const auto out = runner.memory.allocate(4, 4);
  runner.launch("count", shape(3, 32), out);
  EXPECT_EQ(WindowMemory::view<unsigned>(globals[0].address, 1)[0], 5U + 96);
  // Blocks run in order where there are global atomics: the last thread wrote last.
  EXPECT_EQ(WindowMemory::view<unsigned>(out, 1)[0], 5U + 95 + 2);
}

TEST(Variables, AreReleasedWithTheirModule) {
  WindowMemory memory;
  {
    auto module = load_module(kModule, memory, test_options());
    EXPECT_EQ(memory.pieces(), 2U);
  }
  EXPECT_EQ(memory.pieces(), 0U);
}

TEST_F(Launches, SharedLocalAndGenericAddresses) {
  std::vector<unsigned> data(100);
  for (unsigned i = 0; i < 100; ++i) data[i] = i;
  const auto address = runner.upload(data);
  runner.launch("reverse", shape(1, 100, 400), address);
  for (unsigned i = 0; i < 100; ++i) ASSERT_EQ(WindowMemory::view<unsigned>(address, 100)[i], 99 - i);
}

// The whole of a training step's kinds of kernels, on one worker and on two.
struct TrainingRun {
  std::vector<std::vector<float>> outputs;
  std::vector<LaunchCost> costs;
};

TrainingRun run_training(unsigned workers) {
  KernelRunner runner(read_test_file("training_kernels.ptx"), test_options(workers));
  std::mt19937 generator(3);
  std::uniform_real_distribution<float> values(0.1f, 2);
  std::vector<float> x(65536);
  for (float& value : x) value = values(generator);
  const auto dx = runner.upload(x);
  TrainingRun run;
  const auto launch = [&](const std::string& name, const LaunchShape& shape, auto... arguments) {
    const auto out = runner.memory.allocate(sizeof(float) * 65536, 256);
    run.costs.push_back(runner.launch(name, shape, arguments(out)...));
    const auto view = WindowMemory::view<float>(out, 65536);
    run.outputs.emplace_back(view.begin(), view.end());
  };
  const auto is = [](auto value) { return [value](std::uint64_t) { return value; }; };
  const auto result = [](std::uint64_t out) { return out; };
  launch("gelu", shape(256, 256), is(65536), is(dx), result);
  launch("unary_functions", shape(16, 256), is(4096), is(dx), result);
  launch("softmax", shape(64, 128), is(dx), result, is(1024));
  launch("conv3x3", LaunchShape{{64, 2, 1}, {128, 1, 1}, 0}, is(dx), is(dx), is(dx), result, is(8), is(32), is(32),
         is(8));
  launch("sgemm_tiled", LaunchShape{{8, 8, 1}, {16, 16, 1}, 0}, is(dx), is(dx), result, is(128), is(128), is(128));
  launch("histogram", shape(8, 256), is(dx), result, is(65536));
  return run;
}

TEST(Workers, ChangeNeitherBitsNorCosts) {
  const TrainingRun one = run_training(1);
  const TrainingRun two = run_training(2);
  const TrainingRun again = run_training(2);
  ASSERT_EQ(one.outputs.size(), 6U);
  for (std::size_t i = 0; i < one.outputs.size(); ++i) {
    EXPECT_EQ(std::memcmp(one.outputs[i].data(), two.outputs[i].data(), 65536 * sizeof(float)), 0) << i;
    EXPECT_EQ(std::memcmp(two.outputs[i].data(), again.outputs[i].data(), 65536 * sizeof(float)), 0) << i;
    EXPECT_GT(one.costs[i].work, 0U);
    EXPECT_EQ(one.costs[i].work, two.costs[i].work) << i;
    EXPECT_EQ(one.costs[i].bytes, two.costs[i].bytes) << i;
    EXPECT_EQ(two.costs[i].work, again.costs[i].work) << i;
  }
}

tl::expected<LaunchCost, LaunchFault> write_seven(const LaunchShape&, std::span<const std::byte> parameters) {
  std::uint64_t address = 0;
  std::memcpy(&address, parameters.data(), sizeof address);
  WindowMemory::view<unsigned>(address, 1)[0] = 7;
  return LaunchCost{1, 4};
}

TEST(Natives, StandForTheKernelOfThatNameAndModule) {
  WindowMemory memory;
  auto probe = load_module(kModule, memory, test_options());
  const std::uint64_t hash = (*probe)->hash();
  register_native(hash + 1, "count", write_seven);
  EXPECT_EQ(find_native(hash, "count"), nullptr);
  register_native(hash, "count", write_seven);
  EXPECT_EQ(find_native(hash, "count"), &write_seven);
  KernelRunner runner(kModule);
  const auto out = runner.memory.allocate(4, 4);
  EXPECT_EQ(runner.launch("count", shape(1, 1), out).bytes, 4U);
  EXPECT_EQ(WindowMemory::view<unsigned>(out, 1)[0], 7U);
  register_native(hash, "count", nullptr);
}

}  // namespace
}  // namespace simgpu::ptx
