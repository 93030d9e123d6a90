#pragma once

// What the emitter must know of a kernel as a whole: its basic blocks, where threads yield, which registers are live
// there.

#include <string>
#include <vector>

#include "tests/simgpu/ptx/syntax.h"

namespace simgpu::ptx {

struct BasicBlock {
  int begin = 0;
  int end = 0;              ///< one past its last instruction
  bool is_target = false;   ///< something branches to it
  std::uint64_t work = 0;   ///< instructions
  std::uint64_t bytes = 0;  ///< of global and generic loads, stores and atomics
};

/// Live registers after an instruction, as bits.
using RegisterSet = std::vector<bool>;

struct YieldPoint {
  int instruction = 0;
  std::vector<int> live;  ///< registers that must survive the yield; the yield's own results are not among them
};

struct ControlFlow {
  std::vector<BasicBlock> blocks;  ///< in text order
  std::vector<YieldPoint> yields;
  std::vector<bool> used;           ///< registers that occur at all
  std::vector<std::string> copies;  ///< a register: the special register that it always holds a copy of, or empty
  bool ordered = false;             ///< blocks must run one after the other: global atomics, fences, volatile accesses
};

/// bar.sync, bar.red, shfl, vote and their kin: the thread stops there until others have arrived.
bool is_yield(const Instruction& instruction);
bool has_modifier(const Instruction& instruction, std::string_view modifier);
/// Registers that an instruction reads and those that it writes. A guarded write also reads the old value.
void visit_registers(const Instruction& instruction, std::vector<int>& reads, std::vector<int>& writes);

ControlFlow analyze(const Kernel& kernel);

/// Gives untyped registers (.b32, .b64) that hold floats the float type, so that generated code need not move them
/// between register files in loops (facts/ptx_lanes.md, pitfall 1).
void infer_register_types(Kernel& kernel);

}  // namespace simgpu::ptx
