#pragma once

// One function an opcode family: the statement in C++ that does what the instruction does, guard and yields left out.
// All throw SyntaxError for a form that they do not know.

#include <string>

#include "tests/simgpu/ptx/operand_writer.h"

namespace simgpu::ptx {

/// Any instruction that neither branches nor yields.
std::string emit_instruction(OperandWriter& writer, const Instruction& instruction);

std::string emit_plain_form(OperandWriter& writer, const Instruction& instruction);
std::string emit_load(OperandWriter& writer, const Instruction& instruction);
std::string emit_store(OperandWriter& writer, const Instruction& instruction);
std::string emit_atomic(OperandWriter& writer, const Instruction& instruction);
std::string emit_address_conversion(OperandWriter& writer, const Instruction& instruction);
std::string emit_move(OperandWriter& writer, const Instruction& instruction);
std::string emit_conversion(OperandWriter& writer, const Instruction& instruction);
std::string emit_comparison(OperandWriter& writer, const Instruction& instruction);
std::string emit_carry(OperandWriter& writer, const Instruction& instruction);
std::string emit_space_query(OperandWriter& writer, const Instruction& instruction);
std::string emit_hint(OperandWriter& writer, const Instruction& instruction);
std::string emit_fence(OperandWriter& writer, const Instruction& instruction);

/// A yield in three parts: what is done before the thread stops, how it waits, what is done when it goes on.
struct Yield {
  std::string deposit;
  std::string wait;
  std::string resume;
};
Yield emit_yield(OperandWriter& writer, const Instruction& instruction);

void expect_operands(OperandWriter& writer, const Instruction& instruction, std::size_t least, std::size_t most);

}  // namespace simgpu::ptx
