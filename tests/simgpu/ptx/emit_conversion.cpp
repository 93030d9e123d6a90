#include <fmt/format.h>

#include "tests/simgpu/ptx/emit_instruction.h"
#include "tests/simgpu/ptx/modifiers.h"

namespace simgpu::ptx {
namespace {

struct Conversion {
  Type to = Type::b32;
  Type from = Type::b32;
  std::string_view rounding;
  bool flush = false;
  bool saturate = false;
};

Conversion take_conversion(OperandWriter& writer, const Instruction& instruction) {
  Modifiers modifiers(instruction);
  Conversion c;
  const auto from = modifiers.take_type();
  const auto to = modifiers.take_type();
  c.rounding = modifiers.take_one({"rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi"});
  c.flush = modifiers.take("ftz");
  c.saturate = modifiers.take("sat");
  if (!from || !to || !modifiers.empty()) writer.refuse(instruction);
  c.to = *to;
  c.from = *from;
  return c;
}

bool is_number(Type type) {
  return type == Type::f16 || is_float(type) || type_class(type) == TypeClass::signed_ ||
         type_class(type) == TypeClass::unsigned_;
}

std::string_view whole_rounding(std::string_view rounding) {
  if (rounding == "rni") return "round_nearest";
  if (rounding == "rzi") return "round_zero";
  if (rounding == "rmi") return "round_down";
  return rounding == "rpi" ? "round_up" : "";
}

std::string float_to_integer(OperandWriter& writer, const Instruction& instruction, const Conversion& c,
                             const std::string& value) {
  const auto function = whole_rounding(c.rounding);
  if (function.empty()) writer.refuse(instruction);
  const auto from = c.from == Type::f64 ? "f64" : "f32";
  return fmt::format("whole_to_int<{}, {}>({}({}))", cpp_name(c.to), from, function, value);
}

std::string narrow(OperandWriter& writer, const Instruction& instruction, const Conversion& c,
                   const std::string& value) {
  if (c.to == Type::f32) return fmt::format("narrow_{}({})", c.rounding, value);
  if (c.rounding != "rn") writer.refuse(instruction);
  return value;
}

/// To the float type, or to the float that holds a half before it is narrowed.
std::string to_float(OperandWriter& writer, const Instruction& instruction, const Conversion& c,
                     const std::string& value) {
  const bool from_float = is_float(c.from) || c.from == Type::f16;
  if (!from_float) {
    if (c.rounding != "rn" || c.to == Type::f16) writer.refuse(instruction);
    return fmt::format("int_to_float<{}>({})", cpp_name(c.to), value);
  }
  const bool narrows = bit_width(c.to) < bit_width(c.from);
  if (narrows) return narrow(writer, instruction, c, value);
  const auto function = whole_rounding(c.rounding);
  if (!function.empty() && c.to == c.from) return fmt::format("{}({})", function, value);
  if (!c.rounding.empty()) writer.refuse(instruction);
  return c.to == Type::f64 ? fmt::format("f64({})", value) : value;
}

std::string to_half(const Conversion& c, const std::string& value) {
  return fmt::format("{}({})", c.from == Type::f64 ? "double_to_half" : "float_to_half", value);
}

std::string convert_to_float(OperandWriter& writer, const Instruction& instruction, const Conversion& c,
                             const std::string& source) {
  std::string value = to_float(writer, instruction, c, source);
  if (c.saturate) value = fmt::format("saturate({})", value);
  if (c.flush && c.to == Type::f32) value = fmt::format("flush({})", value);
  return c.to == Type::f16 ? to_half(c, value) : value;
}

std::string convert_integer(OperandWriter& writer, const Instruction& instruction, const Conversion& c,
                            const std::string& source) {
  if (!c.rounding.empty()) writer.refuse(instruction);
  if (c.saturate) return fmt::format("saturate_int<{}, {}>({})", cpp_name(c.to), cpp_name(c.from), source);
  return fmt::format("{}({})", cpp_name(c.to), source);
}

}  // namespace

std::string emit_conversion(OperandWriter& writer, const Instruction& instruction) {
  expect_operands(writer, instruction, 2, 2);
  const Conversion c = take_conversion(writer, instruction);
  if (!is_number(c.to) || !is_number(c.from)) writer.refuse(instruction);
  const bool from_float = is_float(c.from) || c.from == Type::f16;
  std::string source = writer.read(instruction, instruction.operands[1], c.from);
  if (c.from == Type::f16) source = fmt::format("half_to_float({})", source);
  if (c.flush && c.from == Type::f32) source = fmt::format("flush({})", source);
  std::string value;
  if (is_float(c.to) || c.to == Type::f16) {
    value = convert_to_float(writer, instruction, c, source);
  } else {
    value =
        from_float ? float_to_integer(writer, instruction, c, source) : convert_integer(writer, instruction, c, source);
  }
  return writer.assign(instruction, instruction.operands[0], c.to, value);
}

}  // namespace simgpu::ptx
