#pragma once

// Runs generated code so that a bad memory access, a trap or a hang in it ends the code, not the process. SIGSEGV and
// SIGBUS on a thread inside guard() belong to the kernel; all others go to whoever handled them before. The time limit
// is a timer of the thread that raises SIGSEGV, too: no further signal is taken from the program, and loops in
// generated code need no check.

#include <chrono>
#include <cstdint>
#include <optional>

#include "tests/simgpu/kernel.h"

namespace simgpu::ptx {

struct CaughtFault {
  LaunchFault::Kind kind = LaunchFault::Kind::illegal_address;
  std::uint64_t host_address = 0;  ///< of an illegal access; 0: not known
};

/// Runs `code(argument)` on this thread. The code is left by a jump: it may hold no lock and own no memory.
std::optional<CaughtFault> guard(void (*code)(void*), void* argument, std::chrono::milliseconds limit);

/// Ends the code that guard() runs on this thread.
[[noreturn]] void raise_fault(LaunchFault::Kind kind);

}  // namespace simgpu::ptx
