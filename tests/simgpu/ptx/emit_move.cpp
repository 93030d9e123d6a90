#include <fmt/format.h>

#include <map>

#include "tests/simgpu/ptx/emit_instruction.h"
#include "tests/simgpu/ptx/modifiers.h"

namespace simgpu::ptx {
namespace {

Type take_only_type(OperandWriter& writer, const Instruction& instruction) {
  Modifiers modifiers(instruction);
  const auto type = modifiers.take_type();
  if (!type || !modifiers.empty()) writer.refuse(instruction);
  return *type;
}

/// The type of one element when `count` of them make one number.
Type element_type(OperandWriter& writer, const Instruction& instruction, Type whole, std::size_t count) {
  const auto bits = count == 0 ? 0 : bit_width(whole) / static_cast<std::uint32_t>(count);
  if (count < 2 || bits < 8 || bits * count != bit_width(whole))
    writer.refuse(instruction, "the vector has another length");
  return unsigned_of(bits);
}

std::string unpack(OperandWriter& writer, const Instruction& instruction, Type whole) {
  const auto& elements = instruction.operands[0].elements;
  const Type element = element_type(writer, instruction, whole, elements.size());
  std::string text = fmt::format("{{ const u64 whole = {};",
                                 writer.read(instruction, instruction.operands[1], unsigned_of(bit_width(whole))));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (elements[i].kind == Operand::Kind::sink) continue;
    text += " " + writer.assign(instruction, elements[i], element,
                                fmt::format("{}(whole >> {})", cpp_name(element), i * bit_width(element)));
  }
  return text + " }";
}

std::string pack(OperandWriter& writer, const Instruction& instruction, Type whole) {
  const auto& elements = instruction.operands[1].elements;
  const Type element = element_type(writer, instruction, whole, elements.size());
  std::string value;
  for (std::size_t i = 0; i < elements.size(); ++i)
    value += fmt::format("{}u64({}) << {}", i == 0 ? "" : " | ", writer.read(instruction, elements[i], element),
                         i * bit_width(element));
  const Type bits = unsigned_of(bit_width(whole));
  return writer.assign(instruction, instruction.operands[0], bits, fmt::format("{}({})", cpp_name(bits), value));
}

// Ordered comparisons are false with a NaN; the ones with u are the negation of the opposite ordered one.
const std::map<std::string_view, std::string_view> kIntegerComparisons = {
    {"eq", "{} == {}"}, {"ne", "{} != {}"}, {"lt", "{} < {}"},  {"le", "{} <= {}"}, {"gt", "{} > {}"},
    {"ge", "{} >= {}"}, {"lo", "{} < {}"},  {"ls", "{} <= {}"}, {"hi", "{} > {}"},  {"hs", "{} >= {}"}};
const std::map<std::string_view, std::string_view> kFloatComparisons = {
    {"eq", "{0} == {1}"},
    {"ne", "({0} < {1} || {0} > {1})"},
    {"lt", "{0} < {1}"},
    {"le", "{0} <= {1}"},
    {"gt", "{0} > {1}"},
    {"ge", "{0} >= {1}"},
    {"equ", "!({0} < {1} || {0} > {1})"},
    {"neu", "!({0} == {1})"},
    {"ltu", "!({0} >= {1})"},
    {"leu", "!({0} > {1})"},
    {"gtu", "!({0} <= {1})"},
    {"geu", "!({0} < {1})"},
    {"num", "!(is_nan({0}) || is_nan({1}))"},
    {"nan", "(is_nan({0}) || is_nan({1}))"},
};

struct Comparison {
  Type type = Type::b32;
  std::string text;
  std::string_view combine;  ///< C++ operator of .and, .or, .xor, or empty
};

Comparison take_comparison(OperandWriter& writer, const Instruction& instruction) {
  Modifiers modifiers(instruction);
  Comparison comparison;
  const bool flush = modifiers.take("ftz");
  const auto combine = modifiers.take_one({"and", "or", "xor"});
  comparison.combine = combine.empty() ? "" : combine == "and" ? "&" : combine == "or" ? "|" : "^";
  const auto type = modifiers.take_type();
  if (!type || *type == Type::pred || *type == Type::bf16 || *type == Type::f16x2) writer.refuse(instruction);
  comparison.type = *type;
  const bool half = *type == Type::f16;
  const auto& table = is_float(*type) || half ? kFloatComparisons : kIntegerComparisons;
  const std::string name = modifiers.text();
  const auto found = table.find(name);
  if (found == table.end()) writer.refuse(instruction);
  std::string a = writer.read(instruction, instruction.operands[1], *type);
  std::string b = writer.read(instruction, instruction.operands[2], *type);
  if (half) a = "half_to_float(" + a + ")", b = "half_to_float(" + b + ")";
  if (flush && *type == Type::f32) a = "flush(" + a + ")", b = "flush(" + b + ")";
  comparison.text = fmt::format(fmt::runtime(found->second), a, b);
  return comparison;
}

}  // namespace

std::string emit_move(OperandWriter& writer, const Instruction& instruction) {
  expect_operands(writer, instruction, 2, 2);
  const Type type = take_only_type(writer, instruction);
  if (instruction.operands[0].kind == Operand::Kind::vector) return unpack(writer, instruction, type);
  if (instruction.operands[1].kind == Operand::Kind::vector) return pack(writer, instruction, type);
  return writer.assign(instruction, instruction.operands[0], type,
                       writer.read(instruction, instruction.operands[1], type));
}

std::string emit_comparison(OperandWriter& writer, const Instruction& instruction) {
  expect_operands(writer, instruction, 3, 4);
  const Comparison comparison = take_comparison(writer, instruction);
  if (comparison.combine.empty() != (instruction.operands.size() == 3)) writer.refuse(instruction);
  std::vector<Operand> targets{instruction.operands[0]};
  if (targets[0].kind == Operand::Kind::pair) targets = instruction.operands[0].elements;
  const std::string third =
      comparison.combine.empty() ? "" : writer.read(instruction, instruction.operands[3], Type::pred);
  const auto combined = [&](std::string_view value) {
    return third.empty() ? std::string(value) : fmt::format("({}) {} third", value, comparison.combine);
  };
  if (targets.size() == 1 && third.empty()) return writer.assign(instruction, targets[0], Type::pred, comparison.text);
  std::string text = fmt::format("{{ const bool holds = {};", comparison.text);
  if (!third.empty()) text += fmt::format(" const bool third = {};", third);
  text += " " + writer.assign(instruction, targets[0], Type::pred, combined("holds"));
  if (targets.size() > 1) text += " " + writer.assign(instruction, targets[1], Type::pred, combined("!holds"));
  return text + " }";
}

std::string emit_carry(OperandWriter& writer, const Instruction& instruction) {
  Modifiers modifiers(instruction);
  const bool sets = modifiers.take("cc");
  const auto part = modifiers.take_one({"lo", "hi"});
  const auto type = modifiers.take_type();
  const bool multiplies = instruction.base.starts_with("mad");
  if (!type || !modifiers.empty() || bit_width(*type) < 32 || part.empty() == multiplies) writer.refuse(instruction);
  expect_operands(writer, instruction, multiplies ? 4 : 3, multiplies ? 4 : 3);
  const auto cpp = cpp_name(*type);
  std::string a = writer.read(instruction, instruction.operands[1], *type);
  std::string b = writer.read(instruction, instruction.operands[2], *type);
  if (multiplies) {
    a = fmt::format("mul_{}<{}>({}, {})", part, cpp, a, b);
    b = writer.read(instruction, instruction.operands[3], *type);
  }
  const bool uses = instruction.base.ends_with("c");
  const auto call =
      fmt::format("{}<{}>({}, {}, {}, {})", instruction.base.starts_with("sub") ? "sub_borrow" : "add_carry", cpp, a, b,
                  uses ? "carry" : "0", sets ? "carry" : "unused");
  return fmt::format("{{ u32 unused; {} }}", writer.assign(instruction, instruction.operands[0], *type, call));
}

}  // namespace simgpu::ptx
