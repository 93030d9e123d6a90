#include <fmt/format.h>

#include <array>

#include "tests/simgpu/ptx/emit_instruction.h"
#include "tests/simgpu/ptx/modifiers.h"

namespace simgpu::ptx {
namespace {

struct Form {
  std::string_view opcode;
  std::string_view modifiers;
  std::string_view optional;
  std::string_view types;
  std::string_view operands;
  std::string_view function;
};

constexpr auto kForms = std::to_array<Form>({
#define FORM(opcode, modifiers, optional, types, operands, function) \
  {opcode, modifiers, optional, types, operands, function},
#include "tests/simgpu/ptx/forms.def"
#undef FORM
});

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t at = 0; (at = words.find(word, at)) != words.npos; at += word.size()) {
    const bool begins = at == 0 || words[at - 1] == ' ';
    const std::size_t end = at + word.size();
    if (begins && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

struct Match {
  const Form* form = nullptr;
  Type type = Type::b32;
  bool flush = false;
  bool saturate = false;
};

bool matches(const Form& form, const Instruction& instruction, Match& match) {
  Modifiers modifiers(instruction);
  const auto type = modifiers.take_type();
  if (!type || !has_word(form.types, ptx_name(*type))) return false;
  match = {&form, *type, false, false};
  if (has_word(form.optional, "rn")) modifiers.take("rn");
  if (has_word(form.optional, "ftz")) match.flush = modifiers.take("ftz");
  if (has_word(form.optional, "sat")) match.saturate = modifiers.take("sat");
  return modifiers.text() == form.modifiers;
}

Match find_form(OperandWriter& writer, const Instruction& instruction) {
  Match match;
  for (const Form& form : kForms)
    if (form.opcode == instruction.base && matches(form, instruction, match)) return match;
  writer.refuse(instruction);
}

Type operand_type(char letter, Type type) {
  if (letter == 'u') return Type::u32;
  if (letter == 'p') return Type::pred;
  if (letter != 'w') return type;
  return is_signed(type) ? signed_of(2 * bit_width(type)) : unsigned_of(2 * bit_width(type));
}

}  // namespace

std::string emit_plain_form(OperandWriter& writer, const Instruction& instruction) {
  const Match match = find_form(writer, instruction);
  const std::string_view letters = match.form->operands;
  expect_operands(writer, instruction, letters.size(), letters.size());
  // Flushing is for single precision; f64 forms carry .ftz without effect.
  const bool flush = match.flush && match.type == Type::f32;
  std::string arguments;
  for (std::size_t i = 1; i < letters.size(); ++i) {
    const std::string value = writer.read(instruction, instruction.operands[i], operand_type(letters[i], match.type));
    arguments += (i == 1 ? "" : ", ") + (flush ? "flush(" + value + ")" : value);
  }
  const bool plain = match.form->function == "add_sat" || match.form->function == "sub_sat";
  std::string call = plain ? fmt::format("{}({})", match.form->function, arguments)
                           : fmt::format("{}<{}>({})", match.form->function, cpp_name(match.type), arguments);
  if (match.saturate) call = fmt::format("saturate({})", call);
  if (flush) call = fmt::format("flush({})", call);
  return writer.assign(instruction, instruction.operands[0], operand_type(letters[0], match.type), call);
}

}  // namespace simgpu::ptx
