#pragma once

// PTX as it was written: what the parser hands to the layout, the analyses and the emitter. Plain values, no invariants
// beyond the comments; indices refer to the vectors of the same struct.

#include <cstdint>
#include <string>
#include <vector>

#include "tests/simgpu/ptx/scalar_type.h"

namespace simgpu::ptx {

/// Thrown inside this folder only; parse_module and translate turn it into an expected.
struct SyntaxError {
  int line = 0;
  std::string message;
};

struct Operand {
  enum class Kind {
    reg,      ///< reg: index into Kernel::registers
    integer,  ///< value
    float32,  ///< value: the bits
    float64,  ///< value: the bits
    symbol,   ///< name, plus offset; in a branch: a label
    special,  ///< name: %tid.x, %laneid, WARP_SZ
    vector,   ///< elements, from {a, b}
    pair,     ///< elements, from p|q
    list,     ///< elements, from (a, b) in a call
    address,  ///< elements[0] is the base (reg, symbol or integer), plus offset in bytes
    sink,     ///< _
  };
  Kind kind = Kind::sink;
  int reg = -1;
  bool negated = false;  ///< !p
  std::uint64_t value = 0;
  std::int64_t offset = 0;
  std::string name;
  std::vector<Operand> elements;
};

struct Instruction {
  int line = 0;
  std::string opcode;                  ///< as written, for messages
  std::string base;                    ///< "ld" of ld.global.v4.f32
  std::vector<std::string> modifiers;  ///< "global", "v4", "f32"
  int guard = -1;                      ///< register of @p, or -1
  bool guard_negated = false;
  std::vector<Operand> operands;
  int scope = 0;    ///< the { } in which it stands, for labels
  int target = -1;  ///< bra: index of the instruction to go to; one past the end is legal
};

struct Register {
  std::string name;
  Type type = Type::b32;
};

/// A variable of any state space, or a parameter.
struct Variable {
  enum class Space { global, constant, shared, local, param };
  struct Initializer {
    std::uint64_t bits = 0;
    std::string symbol;  ///< the address of it, plus bits; empty: bits alone
  };
  Space space = Space::global;
  std::string name;
  Type type = Type::b8;
  std::uint32_t alignment = 1;
  std::uint64_t elements = 1;
  bool unsized = false;  ///< name[]: dynamic shared memory
  bool external = false;
  std::vector<Initializer> initializers;
  int line = 0;

  std::uint64_t bytes() const { return elements * bit_width(type) / 8; }
};

struct Kernel {
  std::string name;
  int line = 0;
  std::vector<Variable> parameters;
  std::vector<Variable> variables;  ///< .shared and .local of the body
  std::vector<Register> registers;
  std::vector<Instruction> instructions;
  std::uint32_t max_threads = 1024;  ///< of .maxntid or .reqntid
};

struct ModuleSyntax {
  std::vector<Variable> variables;
  std::vector<Kernel> kernels;
};

}  // namespace simgpu::ptx
