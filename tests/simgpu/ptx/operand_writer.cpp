#include "tests/simgpu/ptx/operand_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace simgpu::ptx {
namespace {

// Integer registers are unsigned in C++: signedness is a property of the operation.
Type storage_type(Type type) {
  return is_float(type) || type == Type::pred ? type : unsigned_of(bit_width(type));
}

const std::map<std::string, std::string, std::less<>> kSpecialExpressions = {
    {"%tid.x", "tx"},
    {"%tid.y", "ty"},
    {"%tid.z", "tz"},
    {"%ntid.x", "nx"},
    {"%ntid.y", "ny"},
    {"%ntid.z", "nz"},
    {"%ctaid.x", "bx"},
    {"%ctaid.y", "by"},
    {"%ctaid.z", "bz"},
    {"%nctaid.x", "gx"},
    {"%nctaid.y", "gy"},
    {"%nctaid.z", "gz"},
    {"%laneid", "(linear & 31)"},
    {"%warpid", "(linear >> 5)"},
    {"%nwarpid", "((nx * ny * nz + 31) >> 5)"},
    {"%lanemask_eq", "(1u << (linear & 31))"},
    {"%lanemask_lt", "((1u << (linear & 31)) - 1)"},
    {"%lanemask_le", "((2u << (linear & 31)) - 1)"},
    {"%lanemask_gt", "~((2u << (linear & 31)) - 1)"},
    {"%lanemask_ge", "~((1u << (linear & 31)) - 1)"},
    {"%smid", "0"},
    {"%nsmid", "1"},
    // Instructions so far: a clock that is the same in every run.
    {"%clock", "(block->work + work)"},
    {"%clock64", "(block->work + work)"},
    {"%globaltimer", "(block->work + work)"},
    {"%dynamic_smem_size", "block->dynamic_shared_bytes"},
    {"%total_smem_size", "block->shared_bytes"},
    {"WARP_SZ", "32"},
};

}  // namespace

void OperandWriter::refuse(const Instruction& instruction, const std::string& why) const {
  throw SyntaxError{instruction.line, fmt::format("kernel {}: {}: {}", kernel_.name, instruction.opcode, why)};
}

std::string OperandWriter::register_name(int reg) const {
  std::string name = kernel_.registers[static_cast<std::size_t>(reg)].name;
  std::erase(name, '%');
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return fmt::format("{}_{}", name, reg);
}

std::string_view OperandWriter::register_cpp(int reg) const {
  return cpp_name(storage_type(kernel_.registers[static_cast<std::size_t>(reg)].type));
}

std::string OperandWriter::read_register(const Instruction& instruction, const Operand& operand, Type type) {
  const Type held = storage_type(kernel_.registers[static_cast<std::size_t>(operand.reg)].type);
  const std::string name = register_name(operand.reg);
  if (operand.offset != 0) refuse(instruction, "a register with an offset");
  if (operand.negated && type != Type::pred) refuse(instruction, "! on a number");
  if ((held == Type::pred) != (type == Type::pred)) refuse(instruction, "predicate and number mixed");
  if (held == Type::pred) return operand.negated ? "!" + name : name;
  if (bit_width(held) < bit_width(type)) refuse(instruction, "register " + operand.name + " is too narrow");
  if (is_float(held) && is_float(type)) {
    if (held != type) refuse(instruction, "register " + operand.name + " is of another float type");
    return name;
  }
  const Type bits = unsigned_of(bit_width(type));
  if (is_float(type)) return fmt::format("as<{}>({}({}))", cpp_name(type), cpp_name(bits), name);
  if (is_float(held))
    return fmt::format("{}(as<{}>({}))", cpp_name(type), cpp_name(unsigned_of(bit_width(held))), name);
  return cpp_name(held) == cpp_name(type) ? name : fmt::format("{}({})", cpp_name(type), name);
}

std::string OperandWriter::read_integer(const Instruction& instruction, const Operand& operand, Type type) {
  if (type == Type::pred) return operand.value != 0 ? "true" : "false";
  if (is_float(type)) refuse(instruction, "an integer where a float is expected");
  return fmt::format("{}({:#x}ul)", cpp_name(type), operand.value);
}

std::string OperandWriter::read_special(const Operand& operand, Type type) {
  const auto found = kSpecialExpressions.find(operand.name);
  return fmt::format("{}({})", cpp_name(type), found->second);
}

std::string OperandWriter::read_symbol(const Instruction& instruction, const Operand& operand, Type type) {
  const Place* place = layout_.find(operand.name);
  if (place == nullptr) refuse(instruction, "unknown symbol " + operand.name);
  if (is_float(type) || bit_width(type) < 32)
    refuse(instruction, "the address of " + operand.name + " as a " + std::string(ptx_name(type)));
  const auto offset = static_cast<std::uint64_t>(operand.offset);
  if (place->space == Variable::Space::shared)
    return fmt::format("{}({:#x}ul)", cpp_name(type), place->offset + offset);
  if (bit_width(type) != 64) refuse(instruction, "a 32-bit address of " + operand.name);
  if (place->space == Variable::Space::local)
    return fmt::format("{}(local + {:#x}ul)", cpp_name(type), place->offset + offset);
  if (place->space == Variable::Space::param)
    return fmt::format("{}(u64(parameters) - alias + {:#x}ul)", cpp_name(type), place->offset + offset);
  globals_.insert(place->offset);
  return fmt::format("{}(global_{} + {:#x}ul)", cpp_name(type), place->offset, offset);
}

std::string OperandWriter::read(const Instruction& instruction, const Operand& operand, Type type) {
  switch (operand.kind) {
    case Operand::Kind::reg:
      return read_register(instruction, operand, type);
    case Operand::Kind::integer:
      return read_integer(instruction, operand, type);
    case Operand::Kind::float32:
    case Operand::Kind::float64: {
      const bool wide = operand.kind == Operand::Kind::float64;
      if (bit_width(type) != (wide ? 64U : 32U)) refuse(instruction, "a float literal of another width");
      const auto bits = fmt::format("{}({:#x}ul)", wide ? "u64" : "u32", operand.value);
      return fmt::format(fmt::runtime(is_float(type) ? "as<{}>({})" : "{}({})"), cpp_name(type), bits);
    }
    case Operand::Kind::symbol:
      return read_symbol(instruction, operand, type);
    case Operand::Kind::special:
      if (is_float(type) || type == Type::pred)
        refuse(instruction, operand.name + " as a " + std::string(ptx_name(type)));
      return read_special(operand, type);
    default:
      refuse(instruction, "an operand of a kind that does not fit");
  }
}

std::string OperandWriter::assign(const Instruction& instruction, const Operand& destination, Type type,
                                  const std::string& value) {
  if (destination.kind == Operand::Kind::sink) return value + ";";
  if (destination.kind != Operand::Kind::reg) refuse(instruction, "the result goes to no register");
  const Type held = storage_type(kernel_.registers[static_cast<std::size_t>(destination.reg)].type);
  const std::string name = register_name(destination.reg);
  if ((held == Type::pred) != (type == Type::pred)) refuse(instruction, "predicate and number mixed");
  if (bit_width(held) < bit_width(type)) refuse(instruction, "register " + destination.name + " is too narrow");
  if (cpp_name(held) == cpp_name(type)) return fmt::format("{} = {};", name, value);
  const std::string_view bits = cpp_name(unsigned_of(bit_width(type)));
  if (is_float(held)) {
    if (bit_width(held) != bit_width(type))
      refuse(instruction, "register " + destination.name + " is of another width");
    return fmt::format("{} = as<{}>({}({}));", name, cpp_name(held), bits, value);
  }
  if (is_float(type)) return fmt::format("{} = as<{}>({});", name, bits, value);
  return fmt::format("{} = {}({});", name, cpp_name(held), value);
}

std::string OperandWriter::address(const Instruction& instruction, const Operand& operand, Space space) {
  if (operand.kind != Operand::Kind::address) refuse(instruction, "no address");
  const Operand& base = operand.elements[0];
  if (base.kind == Operand::Kind::symbol) {
    const Place* place = layout_.find(base.name);
    const bool shared = place != nullptr && place->space == Variable::Space::shared;
    if (place != nullptr && shared != (space == Space::shared))
      refuse(instruction, base.name + " lies in another space");
  }
  if (space != Space::shared)
    return fmt::format("alias + {} + {:#x}ul", read(instruction, base, Type::u64),
                       static_cast<std::uint64_t>(operand.offset));
  // Offsets wrap at 32 bits: a base below zero with a positive offset is legal, and ordinary.
  const bool narrow =
      base.kind == Operand::Kind::reg && bit_width(kernel_.registers[static_cast<std::size_t>(base.reg)].type) == 32;
  const std::string value = read(instruction, base, narrow ? Type::s32 : Type::s64);
  return fmt::format("shared + u64(s64(s32({}))) + {:#x}ul", value, static_cast<std::uint64_t>(operand.offset));
}

std::string OperandWriter::parameter(const Operand& operand, Type type, std::uint64_t extra) {
  const Operand& base = operand.elements[0];
  const Place* place = base.kind == Operand::Kind::symbol ? layout_.find(base.name) : nullptr;
  if (place == nullptr || place->space != Variable::Space::param) return {};
  const std::uint64_t offset = place->offset + static_cast<std::uint64_t>(operand.offset) + extra;
  if (offset + bit_width(type) / 8 > layout_.info.parameter_bytes) return {};
  const std::string name = fmt::format("parameter_{}_{}", offset, cpp_name(type));
  parameters_[{offset, std::string(cpp_name(type))}] = name;
  return name;
}

std::string OperandWriter::prologue() const {
  std::string text;
  for (const auto index : globals_) text += fmt::format("  const u64 global_{0} = block->globals[{0}];\n", index);
  for (const auto& [key, name] : parameters_)
    text += fmt::format("  const {1} {2} = load<{1}>(u64(parameters) + {0});\n", key.first, key.second, name);
  return text;
}

}  // namespace simgpu::ptx
