#include "tests/simgpu/ptx/emit_instruction.h"

#include <fmt/format.h>

#include <array>

#include "tests/simgpu/ptx/control_flow.h"

namespace simgpu::ptx {
namespace {

struct Family {
  std::string_view base;
  std::string (*emit)(OperandWriter&, const Instruction&);
};

// What is not here is a plain form or unknown.
constexpr auto kFamilies = std::to_array<Family>({
    {"ld", emit_load},
    {"ldu", emit_load},
    {"st", emit_store},
    {"atom", emit_atomic},
    {"red", emit_atomic},
    {"cvta", emit_address_conversion},
    {"mov", emit_move},
    {"cvt", emit_conversion},
    {"setp", emit_comparison},
    {"addc", emit_carry},
    {"subc", emit_carry},
    {"madc", emit_carry},
    {"isspacep", emit_space_query},
    {"nanosleep", emit_hint},
    {"prefetch", emit_hint},
    {"membar", emit_fence},
    {"fence", emit_fence},
});

}  // namespace

std::string emit_instruction(OperandWriter& writer, const Instruction& instruction) {
  if (has_modifier(instruction, "cc")) return emit_carry(writer, instruction);
  for (const Family& family : kFamilies)
    if (family.base == instruction.base) return family.emit(writer, instruction);
  return emit_plain_form(writer, instruction);
}

void expect_operands(OperandWriter& writer, const Instruction& instruction, std::size_t least, std::size_t most) {
  const auto count = instruction.operands.size();
  if (count < least || count > most) writer.refuse(instruction, fmt::format("{} operands", count));
}

}  // namespace simgpu::ptx
