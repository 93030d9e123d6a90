#include "tests/simgpu/ptx/emit_kernel.h"

#include <fmt/format.h>

#include <set>

#include "tests/simgpu/ptx/control_flow.h"
#include "tests/simgpu/ptx/emit_instruction.h"

namespace simgpu::ptx {
namespace {

// Read once: stores of the kernel could alias the block, as far as the compiler knows. `alias` is made opaque so that a
// load is one instruction with a small displacement instead of one with a new 64-bit constant each.
constexpr std::string_view kPrologue = R"(  u64 alias = {alias:#x}ul;
  asm("" : "+r"(alias));
  const u8* const parameters = block->parameters;
  const u64 shared = u64(block->shared);
  const u32 nx = block->block_dim[0], ny = block->block_dim[1], nz = block->block_dim[2];
  const u32 gx = block->grid_dim[0], gy = block->grid_dim[1], gz = block->grid_dim[2];
  const u32 bx = block->block_index[0], by = block->block_index[1], bz = block->block_index[2];
)";

// Made for the compiler's vectoriser: counts of one thread are added up once, at its end; `tx` is signed, and so is the
// sum that most kernels begin with, so that addresses computed from it are seen to advance evenly. run_launch refuses
// rows of threads that would overflow it.
constexpr std::string_view kBlockFunction = R"(
static void run_{index}(Block* block) {{
{prologue}  const u64 local = u64(block->local) - alias;
  const s32 first_x = s32(bx * nx);
  u64 block_work = 0, block_bytes = 0;
  u32 linear = 0;
  for (u32 tz = 0; tz < nz; ++tz)
  for (u32 ty = 0; ty < ny; ++ty)
  for (s32 tx = 0; tx < s32(nx); ++tx, ++linear) {{
    u64 work = 0, bytes = 0;
    u32 carry = 0;
{registers}{body}  done:
    block_work += work;
    block_bytes += bytes;
  }}
  block->work += block_work + {entry_work}ul * nx * ny * nz;
  block->bytes += block_bytes + {entry_bytes}ul * nx * ny * nz;
}}
extern "C" __attribute__((visibility("default"))) const KernelEntry simgpu_kernel_{index};
const KernelEntry simgpu_kernel_{index} = {{run_{index}, nullptr, 0}};
)";

constexpr std::string_view kThreadFunction = R"(
struct State_{index} : Thread {{
{state}}};
static Wait step_{index}(Block* block, Thread* thread) {{
  State_{index}* const state = static_cast<State_{index}*>(thread);
{prologue}  const s32 tx = s32(thread->x), first_x = s32(bx * nx);
  const u32 ty = thread->y, tz = thread->z, linear = thread->linear;
  u64 work = 0, bytes = 0;
  Wait wait = kDone;
  const u64 local = u64(block->local) + u64(linear) * {local_bytes} - alias;
  u32 carry = 0;
{registers}  switch (thread->resume) {{
{resumes}  }}
  work += {entry_work};
  bytes += {entry_bytes};
{body}  done:
  leave:
  block->work += work;
  block->bytes += bytes;
  return wait;
}}
extern "C" __attribute__((visibility("default"))) const KernelEntry simgpu_kernel_{index};
const KernelEntry simgpu_kernel_{index} = {{nullptr, step_{index}, sizeof(State_{index})}};
)";

class KernelEmitter {
 public:
  KernelEmitter(const Kernel& kernel, const ControlFlow& flow, const KernelLayout& layout)
      : kernel_(kernel), flow_(flow), layout_(layout), writer_(kernel, layout) {}

  std::string run(std::size_t index) {
    const std::string body = emit_body();
    const std::string prologue =
        fmt::format(fmt::runtime(kPrologue), fmt::arg("alias", kAliasOffset)) + writer_.prologue();
    const BasicBlock entry = counted_at_entry();
    return fmt::format(fmt::runtime(flow_.yields.empty() ? kBlockFunction : kThreadFunction), fmt::arg("index", index),
                       fmt::arg("prologue", prologue), fmt::arg("registers", declare_registers()),
                       fmt::arg("body", body), fmt::arg("entry_work", entry.work), fmt::arg("entry_bytes", entry.bytes),
                       fmt::arg("state", declare_state()), fmt::arg("resumes", resume_cases()),
                       fmt::arg("local_bytes", layout_.info.local_bytes));
  }

 private:
  /// The first block, unless something branches back to it: each thread runs it once.
  BasicBlock counted_at_entry() const {
    return flow_.blocks.empty() || flow_.blocks[0].is_target ? BasicBlock{} : flow_.blocks[0];
  }

  std::string emit_body() {
    std::string text;
    for (std::size_t b = 0; b < flow_.blocks.size(); ++b) {
      const BasicBlock& block = flow_.blocks[b];
      if (block.is_target) text += fmt::format("  at_{}:;\n", block.begin);
      if (b > 0 || block.is_target) text += count(block);
      for (int i = block.begin; i < block.end; ++i) text += emit_one(i);
    }
    return text;
  }

  static std::string count(const BasicBlock& block) {
    std::string text;
    if (block.work > 0) text += fmt::format("  work += {};", block.work);
    if (block.bytes > 0) text += fmt::format(" bytes += {};", block.bytes);
    return text.empty() ? text : text + "\n";
  }

  std::string emit_one(int index) {
    const Instruction& instruction = kernel_.instructions[static_cast<std::size_t>(index)];
    std::string guard;
    if (instruction.guard >= 0)
      guard = fmt::format("if ({}{}) ", instruction.guard_negated ? "!" : "", writer_.register_name(instruction.guard));
    return fmt::format("  {}{{ {} }}\n", guard, emit_statement(index, instruction));
  }

  std::string emit_statement(int index, const Instruction& instruction) {
    if (is_yield(instruction)) return emit_yield_point(index, instruction);
    if (instruction.base == "bra") return emit_branch(instruction);
    if (instruction.base == "ret" || instruction.base == "exit") return emit_leave(instruction, "goto done;");
    if (instruction.base == "trap") return emit_leave(instruction, "block->trap(block);");
    if (is_index_in_row(instruction))
      return writer_.assign(instruction, instruction.operands[0], Type::s32, "first_x + tx");
    return emit_instruction(writer_, instruction);
  }

  /// ctaid.x * ntid.x + tid.x
  bool is_index_in_row(const Instruction& instruction) const {
    const bool multiplies = instruction.opcode == "mad.lo.s32" || instruction.opcode == "mad.lo.u32";
    if (!multiplies || instruction.operands.size() != 4) return false;
    const auto a = held_special(instruction.operands[1]);
    const auto b = held_special(instruction.operands[2]);
    const bool product = (a == "%ctaid.x" && b == "%ntid.x") || (a == "%ntid.x" && b == "%ctaid.x");
    return product && held_special(instruction.operands[3]) == "%tid.x";
  }

  /// The special register that an operand is, or always holds a copy of.
  std::string_view held_special(const Operand& operand) const {
    if (operand.kind == Operand::Kind::special) return operand.name;
    return operand.reg < 0 ? std::string_view{} : flow_.copies[static_cast<std::size_t>(operand.reg)];
  }

  std::string emit_branch(const Instruction& instruction) {
    if (!instruction.modifiers.empty() && instruction.modifiers != std::vector<std::string>{"uni"})
      writer_.refuse(instruction);
    return fmt::format("goto at_{};", instruction.target);
  }

  std::string emit_leave(const Instruction& instruction, const std::string& statement) {
    const bool known = instruction.modifiers.empty() || instruction.modifiers == std::vector<std::string>{"uni"};
    if (!known || !instruction.operands.empty()) writer_.refuse(instruction);
    return statement;
  }

  std::string emit_yield_point(int index, const Instruction& instruction) {
    std::size_t number = 0;
    while (flow_.yields[number].instruction != index) ++number;
    const Yield yield = emit_yield(writer_, instruction);
    std::string text = yield.deposit;
    for (const int reg : flow_.yields[number].live)
      text += fmt::format(" state->{0} = {0};", writer_.register_name(reg));
    text +=
        fmt::format(" thread->resume = {0}; wait = {1}; goto leave; resume_{0}: wait = kDone;", number + 1, yield.wait);
    for (const int reg : flow_.yields[number].live)
      text += fmt::format(" {0} = state->{0};", writer_.register_name(reg));
    return text + " " + yield.resume;
  }

  std::string declare_registers() const {
    std::string text;
    for (std::size_t r = 0; r < kernel_.registers.size(); ++r) {
      const int reg = static_cast<int>(r);
      if (flow_.used[r]) text += fmt::format("  {} {} = 0;\n", writer_.register_cpp(reg), writer_.register_name(reg));
    }
    return text;
  }

  std::string declare_state() const {
    std::set<int> saved;
    for (const YieldPoint& yield : flow_.yields) saved.insert(yield.live.begin(), yield.live.end());
    std::string text;
    for (const int reg : saved)
      text += fmt::format("  {} {};\n", writer_.register_cpp(reg), writer_.register_name(reg));
    return text;
  }

  std::string resume_cases() const {
    std::string text;
    for (std::size_t n = 1; n <= flow_.yields.size(); ++n) text += fmt::format("    case {0}: goto resume_{0};\n", n);
    return text;
  }

  const Kernel& kernel_;
  const ControlFlow& flow_;
  const KernelLayout& layout_;
  OperandWriter writer_;
};

}  // namespace

tl::expected<TranslatedKernel, SyntaxError> translate_kernel(const ModuleSyntax& module,
                                                             const std::vector<GlobalVariable>& globals, Kernel kernel,
                                                             std::size_t index) {
  try {
    infer_register_types(kernel);
    const ControlFlow flow = analyze(kernel);
    TranslatedKernel translated;
    translated.layout = lay_out_kernel(module, globals, kernel);
    translated.body = KernelEmitter(kernel, flow, translated.layout).run(index);
    translated.yields = !flow.yields.empty();
    translated.ordered = flow.ordered;
    translated.weight = kernel.instructions.size();
    return translated;
  } catch (SyntaxError& error) {
    return tl::unexpected(std::move(error));
  }
}

}  // namespace simgpu::ptx
