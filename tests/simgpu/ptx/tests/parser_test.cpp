#include "tests/simgpu/ptx/parser.h"

#include <gtest/gtest.h>

#include "tests/simgpu/ptx/control_flow.h"
#include "tests/simgpu/ptx/module_layout.h"

namespace simgpu::ptx {
namespace {

ModuleSyntax parse(const std::string& text) {
  auto module = parse_module(text);
  EXPECT_TRUE(module.has_value()) << module.error().line << ": " << module.error().message;
  return module ? *module : ModuleSyntax{};
}

Kernel parse_kernel(const std::string& body, const std::string& parameters = "") {
  auto module = parse(".version 7.5\n.target sm_75\n.address_size 64\n.visible .entry k(" + parameters + ")\n{\n" +
                      body + "\n}\n");
  return module.kernels.empty() ? Kernel{} : module.kernels[0];
}

std::string error_of(const std::string& body) {
  const auto module = parse_module(".version 7.5\n.target sm_75\n.visible .entry k()\n{\n" + body + "\n}\n");
  return module ? "" : std::to_string(module.error().line) + ": " + module.error().message;
}

TEST(Parser, BracesAreAScopeAtTheStartOfAStatementAndAVectorElsewhere) {
  const Kernel kernel = parse_kernel(R"(
    .reg .f32 %f<3>; .reg .b64 %rd<2>;
    ld.global.v2.f32 {%f0, %f1}, [%rd0];
    { .reg .f32 %f1; mov.f32 %f1, 0f3F800000; { .reg .f32 t; mov.f32 t, %f1; } }
    mov.f32 %f2, %f1;)");
  ASSERT_EQ(kernel.instructions.size(), 4U);
  EXPECT_EQ(kernel.instructions[0].operands[0].kind, Operand::Kind::vector);
  const int outer = kernel.instructions[0].operands[0].elements[1].reg;
  const int inner = kernel.instructions[1].operands[0].reg;
  EXPECT_NE(outer, inner);
  EXPECT_EQ(kernel.instructions[2].operands[1].reg, inner);
  EXPECT_EQ(kernel.instructions[3].operands[1].reg, outer);
}

TEST(Parser, LabelsShareLinesAndAreLocalToTheirScope) {
  const Kernel kernel = parse_kernel(R"(
    .reg .pred p;
    $L__BB0_1: @!p bra DONE; bra.uni $L__BB0_1;
    { bra DONE; DONE: mov.pred p, p; }
    DONE: ret;)");
  ASSERT_EQ(kernel.instructions.size(), 5U);
  EXPECT_EQ(kernel.instructions[0].target, 4);
  EXPECT_TRUE(kernel.instructions[0].guard_negated);
  EXPECT_EQ(kernel.instructions[1].target, 0);
  EXPECT_EQ(kernel.instructions[2].target, 3);
}

TEST(Parser, DebugDirectivesGo) {
  const auto module = parse(R"(
.version 7.5
.target sm_75, debug
.address_size 64
.file 1 "a.cu"
.visible .entry k() .maxntid 128, 2, 1 .minnctapersm 2
{
  .loc 1 2 3
  L: .loc 1 3 5, function_name info, inlined_at 1 4 2
  ret; // done
  /* ret; */
}
.section .debug_str
{
  info: .b8 95, 0
}
)");
  ASSERT_EQ(module.kernels.size(), 1U);
  EXPECT_EQ(module.kernels[0].instructions.size(), 1U);
  EXPECT_EQ(module.kernels[0].max_threads, 256U);
}

TEST(Parser, DirectivesMayTouch) {
  const Kernel kernel = parse_kernel("{.reg.b16 low,high;\n mov.b32 {low,high}, 5;}");
  EXPECT_EQ(kernel.registers.size(), 2U);
}

TEST(Parser, OperandForms) {
  const Kernel kernel = parse_kernel(R"(
    .reg .pred %p<3>; .reg .b32 %r<4>; .reg .b64 %rd<2>; .reg .f64 %fd<1>; .shared .align 4 .b8 buffer[64];
    ld.global.u32 %r0, [%rd0+-4];
    ld.global.u32 %r0, [ %rd0 + 0x10 ];
    st.shared.u32 [buffer+8], 10U;
    mov.u32 %r1, buffer[4];
    mov.b32 %r1, 0f3F800000;
    mov.f64 %fd0, 0d3FF0000000000000;
    setp.eq.s32 %p0|%p1, %r0, -12;
    and.pred %p0, !%p1, %p0;
    shfl.sync.bfly.b32 %r1|_, %r0, 16, 31, -1;
    mov.u32 %r2, %ntid.y;)");
  const auto& at = kernel.instructions;
  ASSERT_EQ(at.size(), 10U);
  EXPECT_EQ(at[0].operands[1].offset, -4);
  EXPECT_EQ(at[1].operands[1].offset, 16);
  EXPECT_EQ(at[2].operands[0].elements[0].kind, Operand::Kind::symbol);
  EXPECT_EQ(at[2].operands[0].offset, 8);
  EXPECT_EQ(at[2].operands[1].value, 10U);
  EXPECT_EQ(at[3].operands[1].offset, 4);
  EXPECT_EQ(at[4].operands[1].kind, Operand::Kind::float32);
  EXPECT_EQ(at[5].operands[1].value, 0x3FF0000000000000U);
  EXPECT_EQ(at[6].operands[0].kind, Operand::Kind::pair);
  EXPECT_EQ(static_cast<std::int64_t>(at[6].operands[2].value), -12);
  EXPECT_TRUE(at[7].operands[1].negated);
  EXPECT_EQ(at[8].operands[0].elements[1].kind, Operand::Kind::sink);
  EXPECT_EQ(at[9].operands[1].kind, Operand::Kind::special);
}

TEST(Parser, ErrorsNameTheLine) {
  EXPECT_EQ(error_of("mov.u32 %r1, 0;"), "5: kernel k: mov.u32: unknown register %r1");
  EXPECT_EQ(error_of("bra NOWHERE;"), "5: unknown label NOWHERE");
  EXPECT_NE(error_of(".reg .b32 r; mov.b32 r, 0f3F8;").find("malformed float"), std::string::npos);
  EXPECT_NE(error_of("L: ret;\nL: ret;").find("declared twice"), std::string::npos);
  EXPECT_NE(error_of(".texref t;").find(".texref"), std::string::npos);
  EXPECT_NE(error_of("ret").find("expected"), std::string::npos);
}

TEST(Layout, ParametersHaveTheirNaturalAlignment) {
  const auto module = parse(
      ".version 7.5\n.target sm_75\n.entry k(.param .u8 a, .param .align 8 .b8 s[20], .param .u16 b, "
      ".param .u64 .ptr .global .align 16 p) { ret; }");
  const auto layout = lay_out_kernel(module, {}, module.kernels[0]);
  ASSERT_EQ(layout.info.parameters.size(), 4U);
  EXPECT_EQ(layout.info.parameters[1].offset, 8U);
  EXPECT_EQ(layout.info.parameters[1].bytes, 20U);
  EXPECT_EQ(layout.info.parameters[2].offset, 28U);
  EXPECT_EQ(layout.info.parameters[3].offset, 32U);
  EXPECT_EQ(layout.info.parameter_bytes, 40U);
}

TEST(Layout, SharedHoldsWhatTheKernelNames) {
  const auto module = parse(R"(.version 7.5
.target sm_75
.shared .align 16 .b8 used[40];
.shared .align 16 .b8 other[400];
.extern .shared .align 16 .b8 dynamic[];
.entry k() { .shared .f32 own[3]; .local .align 8 .b8 depot[20]; .reg .b32 r; mov.u32 r, used; mov.u32 r, dynamic; ret; })");
  const auto layout = lay_out_kernel(module, {}, module.kernels[0]);
  EXPECT_EQ(layout.info.static_shared_bytes, 52U);
  EXPECT_EQ(layout.dynamic_shared_offset, 64U);
  EXPECT_EQ(layout.info.local_bytes, 32U);
}

TEST(Layout, InitialisersAndAddresses) {
  const auto module = parse(R"(.version 7.5
.target sm_75
.const .align 4 .f32 table[3] = {0f3F800000, 0f40000000};
.global .align 8 .u64 pointer = generic(table)+4;)");
  const auto globals = lay_out_globals(module);
  ASSERT_EQ(globals.size(), 2U);
  ASSERT_EQ(globals[0].image.size(), 12U);
  EXPECT_EQ(globals[0].image[7], std::byte{0x40});
  EXPECT_EQ(globals[0].image[11], std::byte{0});
  ASSERT_EQ(globals[1].relocations.size(), 1U);
  EXPECT_EQ(globals[1].relocations[0].global, 0U);
  EXPECT_EQ(globals[1].relocations[0].addend, 4U);
}

TEST(ControlFlow, YieldsKeepWhatIsReadLater) {
  const Kernel kernel = parse_kernel(R"(
    .reg .b32 %r<5>; .reg .pred p;
    mov.u32 %r0, 1; mov.u32 %r1, 2; mov.u32 %r4, 0;
    LOOP: bar.sync 0;
    add.s32 %r2, %r0, %r4;
    mov.u32 %r3, %r2;
    add.s32 %r4, %r4, 1;
    setp.lt.s32 p, %r4, 3;
    @p bra LOOP;)");
  const auto flow = analyze(kernel);
  ASSERT_EQ(flow.yields.size(), 1U);
  std::vector<std::string> live;
  for (const int reg : flow.yields[0].live) live.push_back(kernel.registers[static_cast<std::size_t>(reg)].name);
  EXPECT_EQ(live, (std::vector<std::string>{"%r0", "%r4"}));
}

TEST(ControlFlow, UntypedRegistersThatHoldFloatsBecomeFloats) {
  Kernel kernel = parse_kernel(R"(
    .reg .b32 %r<4>; .reg .b64 %rd<1>;
    ld.global.b32 %r0, [%rd0]; mul.f32 %r1, %r0, %r0; add.s32 %r2, %r3, 1; st.global.b32 [%rd0], %r1;)");
  infer_register_types(kernel);
  EXPECT_EQ(kernel.registers[0].type, Type::f32);
  EXPECT_EQ(kernel.registers[1].type, Type::f32);
  EXPECT_EQ(kernel.registers[2].type, Type::b32);
}

TEST(ControlFlow, GlobalAtomicsFencesAndVolatileAccessesOrderBlocks) {
  const auto ordered = [](const std::string& line) {
    return analyze(parse_kernel(".reg .b32 r; .reg .b64 d; " + line)).ordered;
  };
  EXPECT_TRUE(ordered("atom.global.add.u32 r, [d], 1;"));
  EXPECT_TRUE(ordered("red.add.u32 [d], 1;"));
  EXPECT_TRUE(ordered("membar.gl;"));
  EXPECT_TRUE(ordered("ld.volatile.global.u32 r, [d];"));
  EXPECT_TRUE(ordered("ld.acquire.gpu.u32 r, [d];"));
  EXPECT_FALSE(ordered("atom.shared.add.u32 r, [r], 1;"));
  EXPECT_FALSE(ordered("membar.cta;"));
  EXPECT_FALSE(ordered("ld.volatile.shared.u32 r, [r];"));
  EXPECT_FALSE(ordered("ld.global.nc.u32 r, [d];"));
}

}  // namespace
}  // namespace simgpu::ptx
