// What the executor does not know is refused when the module is loaded, and says which kernel and which instruction.

#include "tests/simgpu/ptx/tests/kernel_runner.h"

namespace simgpu::ptx {
namespace {

constexpr std::string_view kHead = ".version 8.0\n.target sm_90\n.address_size 64\n";

LoadError load_error(const std::string& text) {
  WindowMemory memory;
  auto module = load_module(text.c_str(), memory, test_options());
  if (!module) return module.error();
  ADD_FAILURE() << "loaded: " << text;
  return {};
}

std::string kernel_with(const std::string& line) {
  return std::string(kHead) + ".visible .entry known() { ret; }\n.visible .entry suspect(.param .u64 a) {\n" +
         ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .b16 %h<9>; .reg .f32 %f<9>; .reg .f64 %fd<9>; .reg .pred %p<9>;\n" +
         line + "\nret;\n}\n";
}

class RefusedForms : public testing::TestWithParam<const char*> {};

TEST_P(RefusedForms, NamesKernelAndInstruction) {
  const std::string line = GetParam();
  const auto error = load_error(kernel_with(line));
  EXPECT_EQ(error.kind, LoadError::Kind::invalid_ptx);
  EXPECT_NE(error.message.find("suspect"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find(line.substr(0, line.find_first_of(" ;"))), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("line 7"), std::string::npos) << error.message;
  EXPECT_EQ(error.message.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Each, RefusedForms,
                         testing::Values("frobnicate.f32 %f1, %f2;", "add.frob.f32 %f1, %f2, %f3;", "add.f32 %f1, %f2;",
                                         "add.rn.rz.f32 %f1, %f2, %f3;", "add.f32 %f1, %f2, 1;",
                                         "add.s32 %r1, %h1, %r2;", "mul.s32 %r1, %r2, %r3;",
                                         "ld.global.v3.f32 {%f1, %f2, %f3}, [%rd1];",
                                         "ld.global.v2.f32 {%f1, %f2, %f3}, [%rd1];", "ld.global.frob.f32 %f1, [%rd1];",
                                         "ld.shared.u32 %r1, [missing];", "st.param.u32 [a], %r1;",
                                         "ld.param.u32 %r1, [b];", "mov.u32 %r1, missing;", "mov.b64 %rd1, {%r1};",
                                         "cvt.s32.f32 %r1, %f1;", "cvt.rni.f32.s32 %f1, %r1;", "cvt.f16.f32 %h1, %f1;",
                                         "setp.frob.s32 %p1, %r1, %r2;", "setp.lt.and.s32 %p1, %r1, %r2;",
                                         "shfl.up.b32 %r1, %r2, 1, 0;", "vote.sync.frob.pred %p1, %p2, -1;",
                                         "bar.arrive 0, 64;", "atom.global.add.pred %p1, [%rd1], %p2;",
                                         "atom.global.max.f32 %f1, [%rd1], %f2;", "wgmma.fence.sync.aligned;",
                                         "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r1}, {%f1};",
                                         "call.uni (%r1), f, (%r2);", "brx.idx %r1, targets;",
                                         "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [t, {%f1, %f2}];"));

TEST(RefusedImages, NeitherPtxNorFatBinary) {
  EXPECT_EQ(load_error("hello").kind, LoadError::Kind::invalid_image);
  EXPECT_EQ(load_error("").kind, LoadError::Kind::invalid_image);
  EXPECT_EQ(load_error("\x01\x02\x03\x04").kind, LoadError::Kind::invalid_image);
  EXPECT_EQ(load_error("\x7f"
                       "ELF\x02\x01\x01")
                .kind,
            LoadError::Kind::no_binary);
  WindowMemory memory;
  EXPECT_EQ(load_module(nullptr, memory, test_options()).error().kind, LoadError::Kind::invalid_image);
}

TEST(RefusedImages, MalformedText) {
  EXPECT_EQ(load_error(std::string(kHead) + ".visible .entry k() { mov.u32 %r1, 0; }").kind,
            LoadError::Kind::invalid_ptx);
  EXPECT_EQ(load_error(std::string(kHead) + ".visible .entry k() {").kind, LoadError::Kind::invalid_ptx);
  EXPECT_EQ(load_error(std::string(kHead) + ".global .b8 x[2] = {1, 2, 3};").kind, LoadError::Kind::invalid_ptx);
  EXPECT_EQ(load_error(std::string(kHead) + ".frobnicate;").kind, LoadError::Kind::invalid_ptx);
}

TEST(RefusedImages, NoRoomForVariables) {
  struct Full final : GlobalMemory {
    std::uint64_t allocate(std::uint64_t, std::uint64_t) override { return 0; }
    void release(std::uint64_t) noexcept override {}
  } full;
  const std::string text = std::string(kHead) + ".global .b8 large[64];";
  const auto module = load_module(text.c_str(), full, test_options());
  ASSERT_FALSE(module.has_value());
  EXPECT_EQ(module.error().kind, LoadError::Kind::out_of_memory);
  EXPECT_NE(module.error().message.find("large"), std::string::npos);
}

TEST(Compiler, AFailureIsALoadErrorOfTheKernel) {
  auto options = test_options();
  options.compiler = "no-such-compiler";
  WindowMemory memory;
  auto module = load_module(kernel_with("").c_str(), memory, options);
  ASSERT_TRUE(module.has_value());
  const auto kernel = (*module)->kernel("known");
  ASSERT_FALSE(kernel.has_value());
  EXPECT_EQ(kernel.error().kind, LoadError::Kind::compiler);
  const auto unknown = (*module)->kernel("unknown");
  ASSERT_TRUE(unknown.has_value());
  EXPECT_EQ(*unknown, nullptr);
}

}  // namespace
}  // namespace simgpu::ptx
