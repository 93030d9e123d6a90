#include <fmt/format.h>

#include "tests/simgpu/ptx/emit_instruction.h"
#include "tests/simgpu/ptx/modifiers.h"

namespace simgpu::ptx {
namespace {

using Space = OperandWriter::Space;

// What an access says of caches and of its order. On one worker all accesses are in order (ControlFlow::ordered).
void drop_access_hints(Modifiers& modifiers) {
  modifiers.drop({"volatile", "relaxed", "acquire", "release", "acq_rel", "weak", "mmio"});
  modifiers.drop({"cta", "cluster", "gpu", "sys", "nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  modifiers.drop_prefixed("L1::");
  modifiers.drop_prefixed("L2::");
}

Space take_space(Modifiers& modifiers) {
  if (!modifiers.take_one({"shared", "shared::cta"}).empty()) return Space::shared;
  if (!modifiers.take_one({"param", "param::entry"}).empty()) return Space::param;
  modifiers.take_one({"global", "const", "local"});
  return Space::generic;
}

struct Access {
  Space space = Space::generic;
  std::size_t length = 1;
  Type type = Type::b32;
};

Access take_access(OperandWriter& writer, const Instruction& instruction) {
  Modifiers modifiers(instruction);
  drop_access_hints(modifiers);
  Access access;
  access.space = take_space(modifiers);
  const auto vector = modifiers.take_one({"v2", "v4"});
  access.length = vector.empty() ? 1 : vector == "v2" ? 2 : 4;
  const auto type = modifiers.take_type();
  if (!type || !modifiers.empty() || *type == Type::pred) writer.refuse(instruction);
  access.type = *type;
  return access;
}

std::vector<Operand> elements_of(OperandWriter& writer, const Instruction& instruction, const Operand& operand,
                                 std::size_t length) {
  std::vector<Operand> elements{operand};
  if (operand.kind == Operand::Kind::vector) elements = operand.elements;
  if (elements.size() != length) writer.refuse(instruction, "the vector has another length");
  return elements;
}

std::string load_parameters(OperandWriter& writer, const Instruction& instruction, const Access& access,
                            const std::vector<Operand>& targets) {
  std::string text;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto name = writer.parameter(instruction.operands[1], access.type, i * bit_width(access.type) / 8);
    if (name.empty()) return {};
    text += writer.assign(instruction, targets[i], access.type, name);
  }
  return text;
}

std::string atomic_value(OperandWriter& writer, const Instruction& instruction, std::string_view operation, Type type,
                         const std::vector<std::string>& values) {
  const auto cpp = cpp_name(type);
  const auto call = [&](std::string_view function) { return fmt::format("{}<{}>(old, {})", function, cpp, values[0]); };
  if (operation == "add")
    return call(is_float(type) ? "add_rn" : type == Type::f16x2 ? "add_f16x2" : type == Type::f16 ? "add_f16" : "add");
  if (operation == "exch") return values[0];
  if (operation == "cas") return fmt::format("old == {} ? {} : old", values[0], values[1]);
  if (is_float(type)) writer.refuse(instruction);
  if (operation == "min" || operation == "max") return call(operation == "min" ? "min_int" : "max_int");
  if (operation == "and" || operation == "or" || operation == "xor") return call(fmt::format("{}_bits", operation));
  if (operation == "inc") return fmt::format("old >= {} ? 0 : old + 1", values[0]);
  if (operation == "dec") return fmt::format("old == 0 || old > {0} ? {0} : old - 1", values[0]);
  writer.refuse(instruction);
}

}  // namespace

std::string emit_load(OperandWriter& writer, const Instruction& instruction) {
  expect_operands(writer, instruction, 2, 2);
  const Access access = take_access(writer, instruction);
  const auto targets = elements_of(writer, instruction, instruction.operands[0], access.length);
  if (access.space == Space::param) {
    const std::string text = load_parameters(writer, instruction, access, targets);
    if (!text.empty()) return text;
    if (instruction.operands[1].elements[0].kind == Operand::Kind::symbol)
      writer.refuse(instruction, "not a parameter of this kernel");
  }
  const std::string address = writer.address(instruction, instruction.operands[1], access.space);
  const auto cpp = cpp_name(access.type);
  if (targets.size() == 1)
    return writer.assign(instruction, targets[0], access.type, fmt::format("load<{}>({})", cpp, address));
  // All elements are loaded before any register changes: the base register may be among the targets.
  std::string loads = fmt::format("const u64 at = {};", address);
  std::string assigns;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    loads += fmt::format(" const {0} e{1} = load<{0}>(at + {2});", cpp, i, i * bit_width(access.type) / 8);
    assigns += " " + writer.assign(instruction, targets[i], access.type, fmt::format("e{}", i));
  }
  return fmt::format("{{ {}{} }}", loads, assigns);
}

std::string emit_store(OperandWriter& writer, const Instruction& instruction) {
  expect_operands(writer, instruction, 2, 2);
  const Access access = take_access(writer, instruction);
  if (access.space == Space::param) writer.refuse(instruction, "calls are not supported");
  const auto sources = elements_of(writer, instruction, instruction.operands[1], access.length);
  const std::string address = writer.address(instruction, instruction.operands[0], access.space);
  const auto cpp = cpp_name(access.type);
  if (sources.size() == 1)
    return fmt::format("store<{}>({}, {});", cpp, address, writer.read(instruction, sources[0], access.type));
  std::string text = fmt::format("{{ const u64 at = {};", address);
  for (std::size_t i = 0; i < sources.size(); ++i)
    text += fmt::format(" store<{}>(at + {}, {});", cpp, i * bit_width(access.type) / 8,
                        writer.read(instruction, sources[i], access.type));
  return text + " }";
}

std::string emit_atomic(OperandWriter& writer, const Instruction& instruction) {
  Modifiers modifiers(instruction);
  drop_access_hints(modifiers);
  const auto operation = modifiers.take_one({"add", "min", "max", "exch", "cas", "and", "or", "xor", "inc", "dec"});
  const Space space = take_space(modifiers);
  modifiers.take("noftz");
  const auto type = modifiers.take_type();
  if (!type || !modifiers.empty() || space == Space::param || operation.empty()) writer.refuse(instruction);
  if (bit_width(*type) < 16 || *type == Type::bf16) writer.refuse(instruction);
  const bool with_result = instruction.base == "atom";
  const std::size_t first = with_result ? 2 : 1;
  const std::size_t count = first + (operation == "cas" ? 2 : 1);
  expect_operands(writer, instruction, count, count);
  std::vector<std::string> values;
  for (std::size_t i = first; i < count; ++i)
    values.push_back(writer.read(instruction, instruction.operands[i], *type));
  const std::string value = atomic_value(writer, instruction, operation, *type, values);
  const std::string result = with_result ? " " + writer.assign(instruction, instruction.operands[0], *type, "old") : "";
  return fmt::format("{{ const u64 at = {0}; const {1} old = load<{1}>(at); store<{1}>(at, {2});{3} }}",
                     writer.address(instruction, instruction.operands[first - 1], space), cpp_name(*type), value,
                     result);
}

std::string emit_address_conversion(OperandWriter& writer, const Instruction& instruction) {
  expect_operands(writer, instruction, 2, 2);
  Modifiers modifiers(instruction);
  const bool to_space = modifiers.take("to");
  const auto space = modifiers.take_one({"global", "shared", "shared::cta", "local", "const", "param"});
  if (space.empty() || !modifiers.take("u64") || !modifiers.empty()) writer.refuse(instruction);
  std::string value = writer.read(instruction, instruction.operands[1], Type::u64);
  // Shared addresses are offsets in the block's window; all other spaces are generic as they are.
  if (space.starts_with("shared")) value = fmt::format("{} {} (shared - alias)", value, to_space ? '-' : '+');
  return writer.assign(instruction, instruction.operands[0], Type::u64, value);
}

std::string emit_space_query(OperandWriter& writer, const Instruction& instruction) {
  expect_operands(writer, instruction, 2, 2);
  if (instruction.modifiers != std::vector<std::string>{"shared"} &&
      instruction.modifiers != std::vector<std::string>{"shared::cta"})
    writer.refuse(instruction);
  const std::string address = writer.read(instruction, instruction.operands[1], Type::u64);
  return writer.assign(instruction, instruction.operands[0], Type::pred,
                       fmt::format("{} + alias - shared < block->shared_bytes", address));
}

/// Hints: the device has no caches and no other work to do. The operands are read, so that malformed ones are refused.
std::string emit_hint(OperandWriter& writer, const Instruction& instruction) {
  expect_operands(writer, instruction, 1, 1);
  Modifiers modifiers(instruction);
  if (instruction.base == "nanosleep") {
    if (!modifiers.take("u32") || !modifiers.empty()) writer.refuse(instruction);
    return writer.read(instruction, instruction.operands[0], Type::u32) + ";";
  }
  modifiers.take("global");
  if (modifiers.take_one({"L1", "L2"}).empty() || !modifiers.empty()) writer.refuse(instruction);
  return writer.address(instruction, instruction.operands[0], Space::generic) + ";";
}

std::string emit_fence(OperandWriter& writer, const Instruction& instruction) {
  expect_operands(writer, instruction, 0, 0);
  Modifiers modifiers(instruction);
  modifiers.drop({"sc", "acq_rel", "acquire", "release", "cta", "cluster", "gpu", "gl", "sys"});
  if (!modifiers.empty()) writer.refuse(instruction);
  return ";";
}

}  // namespace simgpu::ptx
