#pragma once

// Operands of one kernel as C++ expressions. Collects what the prologue of the kernel must declare for them.

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "tests/simgpu/ptx/module_layout.h"
#include "tests/simgpu/ptx/syntax.h"

namespace simgpu::ptx {

class OperandWriter {
 public:
  OperandWriter(const Kernel& kernel, const KernelLayout& layout) : kernel_(kernel), layout_(layout) {}

  /// The operand as an expression of that type's C++ type. Throws SyntaxError, as all of these.
  std::string read(const Instruction& instruction, const Operand& operand, Type type);
  /// `destination = value`, where `value` has that type's C++ type; wider registers are extended.
  std::string assign(const Instruction& instruction, const Operand& destination, Type type, const std::string& value);
  /// Host address (u64) that an address operand names in a space.
  enum class Space { generic, shared, param };
  std::string address(const Instruction& instruction, const Operand& operand, Space space);
  /// A parameter at an address known now, or empty if it is not.
  std::string parameter(const Operand& operand, Type type, std::uint64_t extra);

  std::string register_name(int reg) const;
  std::string_view register_cpp(int reg) const;

  [[noreturn]] void refuse(const Instruction& instruction, const std::string& why = "unknown form") const;

  /// Declarations that the expressions given out so far rely on.
  std::string prologue() const;

 private:
  std::string read_register(const Instruction& instruction, const Operand& operand, Type type);
  std::string read_integer(const Instruction& instruction, const Operand& operand, Type type);
  std::string read_special(const Operand& operand, Type type);
  std::string read_symbol(const Instruction& instruction, const Operand& operand, Type type);

  const Kernel& kernel_;
  const KernelLayout& layout_;
  std::set<std::uint64_t> globals_;
  std::map<std::pair<std::uint64_t, std::string>, std::string> parameters_;
};

}  // namespace simgpu::ptx
