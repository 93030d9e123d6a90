#include <fmt/format.h>

#include "tests/simgpu/ptx/emit_instruction.h"
#include "tests/simgpu/ptx/modifiers.h"

namespace simgpu::ptx {
namespace {

std::vector<Operand> targets_of(const Operand& operand) {
  return operand.kind == Operand::Kind::pair ? operand.elements : std::vector<Operand>{operand};
}

std::string barrier_operands(OperandWriter& writer, const Instruction& instruction, std::size_t first,
                             bool with_count) {
  std::string text =
      fmt::format("thread->barrier = {} & 15;", writer.read(instruction, instruction.operands[first], Type::u32));
  const std::string count = with_count ? writer.read(instruction, instruction.operands[first + 1], Type::u32) : "0";
  return text + fmt::format(" thread->barrier_count = {};", count);
}

Yield emit_reduction(OperandWriter& writer, const Instruction& instruction, Modifiers& modifiers) {
  const auto operation = modifiers.take_one({"popc", "and", "or"});
  const Type type = operation == "popc" ? Type::u32 : Type::pred;
  if (operation.empty() || !modifiers.take(ptx_name(type)) || !modifiers.empty()) writer.refuse(instruction);
  expect_operands(writer, instruction, 3, 4);
  Yield yield;
  yield.deposit = barrier_operands(writer, instruction, 1, instruction.operands.size() == 4);
  yield.deposit +=
      fmt::format(" thread->deposit = {};", writer.read(instruction, instruction.operands.back(), Type::pred));
  yield.wait = "kNamedBarrier";
  const std::string_view result = operation == "popc"  ? "thread->votes"
                                  : operation == "and" ? "thread->votes == thread->participants"
                                                       : "thread->votes != 0";
  yield.resume = writer.assign(instruction, instruction.operands[0], type, std::string(result));
  return yield;
}

Yield emit_warp_barrier(OperandWriter& writer, const Instruction& instruction, Modifiers& modifiers) {
  if (!modifiers.take("sync") || !modifiers.empty()) writer.refuse(instruction);
  expect_operands(writer, instruction, 1, 1);
  return {fmt::format("thread->member_mask = {};", writer.read(instruction, instruction.operands[0], Type::u32)),
          "kWarp", ""};
}

Yield emit_barrier(OperandWriter& writer, const Instruction& instruction) {
  Modifiers modifiers(instruction);
  if (modifiers.take("warp")) return emit_warp_barrier(writer, instruction, modifiers);
  modifiers.drop({"cta", "aligned"});
  if (modifiers.take("red")) return emit_reduction(writer, instruction, modifiers);
  if (!modifiers.take("sync") || !modifiers.empty()) writer.refuse(instruction);
  expect_operands(writer, instruction, 1, 2);
  const Operand& id = instruction.operands[0];
  if (instruction.operands.size() == 1 && id.kind == Operand::Kind::integer && id.value == 0)
    return {"", "kBarrier", ""};
  return {barrier_operands(writer, instruction, 0, instruction.operands.size() == 2), "kNamedBarrier", ""};
}

std::string deposit(OperandWriter& writer, const Instruction& instruction, const Operand& value, Type type,
                    const Operand& mask) {
  return fmt::format("thread->deposit = {}; thread->member_mask = {};", writer.read(instruction, value, type),
                     writer.read(instruction, mask, Type::u32));
}

Yield emit_shuffle(OperandWriter& writer, const Instruction& instruction) {
  Modifiers modifiers(instruction);
  const bool sync = modifiers.take("sync");
  const auto mode = modifiers.take_one({"bfly", "up", "down", "idx"});
  if (!sync || mode.empty() || !modifiers.take("b32") || !modifiers.empty()) writer.refuse(instruction);
  expect_operands(writer, instruction, 5, 5);
  const std::string_view shuffle = mode == "bfly"   ? "kShuffleBfly"
                                   : mode == "up"   ? "kShuffleUp"
                                   : mode == "down" ? "kShuffleDown"
                                                    : "kShuffleIdx";
  const auto& operands = instruction.operands;
  Yield yield;
  yield.deposit = deposit(writer, instruction, operands[1], Type::b32, operands[4]);
  yield.deposit +=
      fmt::format(" thread->source_lane = shuffle_source<{}>(linear & 31, {}, {});", shuffle,
                  writer.read(instruction, operands[2], Type::u32), writer.read(instruction, operands[3], Type::u32));
  yield.wait = "kWarp";
  const auto targets = targets_of(operands[0]);
  yield.resume = writer.assign(instruction, targets[0], Type::u32, "shuffled(*block, *thread)");
  if (targets.size() > 1)
    yield.resume += " " + writer.assign(instruction, targets[1], Type::pred, "shuffle_valid(*thread)");
  return yield;
}

Yield emit_vote(OperandWriter& writer, const Instruction& instruction) {
  Modifiers modifiers(instruction);
  const bool sync = modifiers.take("sync");
  const auto mode = modifiers.take_one({"all", "any", "uni", "ballot"});
  const Type type = mode == "ballot" ? Type::b32 : Type::pred;
  if (!sync || mode.empty() || !modifiers.take(ptx_name(type)) || !modifiers.empty()) writer.refuse(instruction);
  expect_operands(writer, instruction, 3, 3);
  const auto& operands = instruction.operands;
  const std::string function = mode == "ballot" ? "ballot" : fmt::format("vote_{}", mode);
  return {deposit(writer, instruction, operands[1], Type::pred, operands[2]), "kWarp",
          writer.assign(instruction, operands[0], type, function + "(*block)")};
}

Yield emit_match(OperandWriter& writer, const Instruction& instruction) {
  Modifiers modifiers(instruction);
  const bool known = modifiers.take("any") && modifiers.take("sync");
  const auto type = modifiers.take_type();
  if (!known || !type || (*type != Type::b32 && *type != Type::b64) || !modifiers.empty()) writer.refuse(instruction);
  expect_operands(writer, instruction, 3, 3);
  const auto& operands = instruction.operands;
  return {deposit(writer, instruction, operands[1], *type, operands[2]), "kWarp",
          writer.assign(instruction, operands[0], Type::b32, "match_any(*block, thread->deposit)")};
}

Yield emit_warp_reduction(OperandWriter& writer, const Instruction& instruction) {
  Modifiers modifiers(instruction);
  const bool sync = modifiers.take("sync");
  const auto operation = modifiers.take_one({"add", "min", "max", "and", "or", "xor"});
  const auto type = modifiers.take_type();
  if (!sync || operation.empty() || !type || bit_width(*type) != 32 || is_float(*type) || !modifiers.empty())
    writer.refuse(instruction);
  expect_operands(writer, instruction, 3, 3);
  const auto& operands = instruction.operands;
  const bool orders = operation == "min" || operation == "max";
  const std::string function = operation == "add" ? "add" : fmt::format("{}_{}", operation, orders ? "int" : "bits");
  const auto value = fmt::format("reduce_lanes<{0}, {1}<{0}>>(*block)", cpp_name(*type), function);
  return {deposit(writer, instruction, operands[1], *type, operands[2]), "kWarp",
          writer.assign(instruction, operands[0], *type, value)};
}

Yield emit_active_mask(OperandWriter& writer, const Instruction& instruction) {
  Modifiers modifiers(instruction);
  if (!modifiers.take("b32") || !modifiers.empty()) writer.refuse(instruction);
  expect_operands(writer, instruction, 1, 1);
  return {"thread->member_mask = 0;", "kWarp",
          writer.assign(instruction, instruction.operands[0], Type::b32, "block->exchange->arrived")};
}

}  // namespace

Yield emit_yield(OperandWriter& writer, const Instruction& instruction) {
  if (instruction.base == "shfl") return emit_shuffle(writer, instruction);
  if (instruction.base == "vote") return emit_vote(writer, instruction);
  if (instruction.base == "match") return emit_match(writer, instruction);
  if (instruction.base == "redux") return emit_warp_reduction(writer, instruction);
  if (instruction.base == "activemask") return emit_active_mask(writer, instruction);
  return emit_barrier(writer, instruction);
}

}  // namespace simgpu::ptx
