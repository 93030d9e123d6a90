#include "tests/simgpu/ptx/control_flow.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace simgpu::ptx {
namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool leaves(const Instruction& instruction) {
  return is_one_of(instruction.base, {"ret", "exit", "trap", "brkpt"});
}

bool ends_block(const Instruction& instruction) {
  return instruction.base == "bra" || leaves(instruction);
}

bool writes_nothing(const Instruction& instruction) {
  return is_one_of(instruction.base, {"st", "red", "bra", "membar", "fence", "nanosleep", "prefetch"}) ||
         leaves(instruction) || (is_one_of(instruction.base, {"bar", "barrier"}) && !has_modifier(instruction, "red"));
}

void collect(const Operand& operand, std::vector<int>& registers) {
  if (operand.reg >= 0) registers.push_back(operand.reg);
  for (const Operand& element : operand.elements) collect(element, registers);
}

std::uint64_t vector_length(const Instruction& instruction) {
  return has_modifier(instruction, "v4") ? 4 : has_modifier(instruction, "v2") ? 2 : 1;
}

bool names_other_space(const Instruction& instruction) {
  return std::any_of(instruction.modifiers.begin(), instruction.modifiers.end(), [](std::string_view m) {
    return m.starts_with("shared") || m.starts_with("param") || m == "const" || m == "local";
  });
}

std::uint64_t global_bytes(const Instruction& instruction) {
  const bool access = is_one_of(instruction.base, {"ld", "ldu", "st", "atom", "red"});
  if (!access || instruction.modifiers.empty() || names_other_space(instruction)) return 0;
  const auto type = parse_type(instruction.modifiers.back());
  return type ? bit_width(*type) / 8 * vector_length(instruction) : 0;
}

/// .cta fences order nothing between blocks.
bool orders_blocks(const Instruction& instruction) {
  if (is_one_of(instruction.base, {"membar", "fence"})) return !has_modifier(instruction, "cta");
  if (names_other_space(instruction)) return false;
  if (is_one_of(instruction.base, {"atom", "red"})) return true;
  return std::any_of(instruction.modifiers.begin(), instruction.modifiers.end(), [](std::string_view m) {
    return is_one_of(m, {"volatile", "relaxed", "acquire", "release", "mmio"});
  });
}

std::vector<BasicBlock> find_blocks(const Kernel& kernel) {
  const auto count = kernel.instructions.size();
  std::vector<bool> begins(count + 1);
  std::vector<bool> targets(count + 1);
  begins[0] = true;
  for (std::size_t i = 0; i < count; ++i) {
    if (ends_block(kernel.instructions[i])) begins[i + 1] = true;
    const int target = kernel.instructions[i].target;
    if (target >= 0) begins[static_cast<std::size_t>(target)] = targets[static_cast<std::size_t>(target)] = true;
  }
  std::vector<BasicBlock> blocks;
  for (std::size_t i = 0; i < count; ++i) {
    if (begins[i]) blocks.push_back({static_cast<int>(i), static_cast<int>(i), targets[i], 0, 0});
    blocks.back().end = static_cast<int>(i) + 1;
    blocks.back().work += 1;
    blocks.back().bytes += global_bytes(kernel.instructions[i]);
  }
  if (targets[count]) blocks.push_back({static_cast<int>(count), static_cast<int>(count), true, 0, 0});
  return blocks;
}

class Liveness {
 public:
  explicit Liveness(const Kernel& kernel) : kernel_(kernel), live_(kernel.instructions.size() + 1) {
    for (auto& set : live_) set.resize(kernel.registers.size());
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = kernel.instructions.size(); i-- > 0;) changed = update(i) || changed;
    }
  }

  /// Live behind instruction `i`, its own results left out.
  std::vector<int> across(std::size_t i) const {
    RegisterSet set = after(i);
    std::vector<int> reads;
    std::vector<int> writes;
    visit_registers(kernel_.instructions[i], reads, writes);
    // A guarded yield that is not taken must keep the old value; one that is taken overwrites it.
    for (const int reg : writes) set[static_cast<std::size_t>(reg)] = false;
    std::vector<int> registers;
    for (std::size_t r = 0; r < set.size(); ++r)
      if (set[r]) registers.push_back(static_cast<int>(r));
    return registers;
  }

 private:
  RegisterSet after(std::size_t i) const {
    const Instruction& instruction = kernel_.instructions[i];
    const bool falls_through = instruction.guard >= 0 || (instruction.base != "bra" && !leaves(instruction));
    RegisterSet set = falls_through ? live_[i + 1] : RegisterSet(kernel_.registers.size());
    if (instruction.target < 0) return set;
    const RegisterSet& target = live_[static_cast<std::size_t>(instruction.target)];
    for (std::size_t r = 0; r < set.size(); ++r) set[r] = set[r] || target[r];
    return set;
  }

  bool update(std::size_t i) {
    RegisterSet set = after(i);
    std::vector<int> reads;
    std::vector<int> writes;
    visit_registers(kernel_.instructions[i], reads, writes);
    for (const int reg : writes) set[static_cast<std::size_t>(reg)] = false;
    for (const int reg : reads) set[static_cast<std::size_t>(reg)] = true;
    if (set == live_[i]) return false;
    live_[i] = std::move(set);
    return true;
  }

  const Kernel& kernel_;
  std::vector<RegisterSet> live_;
};

std::vector<std::string> find_copies(const Kernel& kernel) {
  std::vector<std::string> copies(kernel.registers.size());
  std::vector<int> writes(kernel.registers.size());
  for (const Instruction& instruction : kernel.instructions) {
    std::vector<int> read;
    std::vector<int> written;
    visit_registers(instruction, read, written);
    for (const int reg : written) ++writes[static_cast<std::size_t>(reg)];
    const bool copies_special = instruction.base == "mov" && instruction.guard < 0 && written.size() == 1 &&
                                instruction.operands.size() == 2 &&
                                instruction.operands[1].kind == Operand::Kind::special;
    if (copies_special) copies[static_cast<std::size_t>(written[0])] = instruction.operands[1].name;
  }
  for (std::size_t r = 0; r < copies.size(); ++r)
    if (writes[r] != 1) copies[r].clear();
  return copies;
}

/// Opcodes whose float type says nothing of the registers' content elsewhere, or that move bits only.
bool moves_bits(const Instruction& instruction) {
  return is_one_of(instruction.base, {"mov", "selp", "ld", "st", "shfl"});
}

}  // namespace

bool has_modifier(const Instruction& instruction, std::string_view modifier) {
  return std::find(instruction.modifiers.begin(), instruction.modifiers.end(), modifier) != instruction.modifiers.end();
}

bool is_yield(const Instruction& instruction) {
  return is_one_of(instruction.base, {"bar", "barrier", "shfl", "vote", "match", "redux", "activemask"});
}

void visit_registers(const Instruction& instruction, std::vector<int>& reads, std::vector<int>& writes) {
  if (instruction.guard >= 0) reads.push_back(instruction.guard);
  const bool has_result = !writes_nothing(instruction) && !instruction.operands.empty();
  if (has_result) collect(instruction.operands[0], writes);
  for (std::size_t i = has_result ? 1 : 0; i < instruction.operands.size(); ++i)
    collect(instruction.operands[i], reads);
  if (instruction.guard >= 0) reads.insert(reads.end(), writes.begin(), writes.end());
}

ControlFlow analyze(const Kernel& kernel) {
  ControlFlow flow;
  flow.blocks = find_blocks(kernel);
  flow.copies = find_copies(kernel);
  flow.used.resize(kernel.registers.size());
  std::vector<std::size_t> yields;
  for (std::size_t i = 0; i < kernel.instructions.size(); ++i) {
    const Instruction& instruction = kernel.instructions[i];
    std::vector<int> registers;
    visit_registers(instruction, registers, registers);
    for (const int reg : registers) flow.used[static_cast<std::size_t>(reg)] = true;
    if (is_yield(instruction)) yields.push_back(i);
    flow.ordered = flow.ordered || orders_blocks(instruction);
  }
  if (yields.empty()) return flow;
  const Liveness liveness(kernel);
  for (const std::size_t i : yields) flow.yields.push_back({static_cast<int>(i), liveness.across(i)});
  return flow;
}

void infer_register_types(Kernel& kernel) {
  std::vector<int> votes(kernel.registers.size());
  for (const Instruction& instruction : kernel.instructions) {
    if (instruction.modifiers.empty() || moves_bits(instruction)) continue;
    const auto type = parse_type(instruction.modifiers.back());
    if (!type || *type == Type::pred || instruction.base == "cvt") continue;
    for (const Operand& operand : instruction.operands)
      if (operand.kind == Operand::Kind::reg) votes[static_cast<std::size_t>(operand.reg)] += is_float(*type) ? 1 : -1;
  }
  for (std::size_t r = 0; r < votes.size(); ++r) {
    Type& type = kernel.registers[r].type;
    if (votes[r] <= 0) continue;
    if (type == Type::b32) type = Type::f32;
    if (type == Type::b64) type = Type::f64;
  }
}

}  // namespace simgpu::ptx
