#pragma once

// The table of all exported names (runtime/driver_symbols.def) and which of them do something.

#include <span>

namespace simgpu {

/// The logged answer NOT_SUPPORTED; the result is a CUresult.
int refuse_call(const char* name);

struct Symbol {
  using Function = int (*)();
  const char* exported;
  const char* base;  ///< what cuGetProcAddress is asked for
  int version;       ///< first CUDA version that yields it; 0: any
  bool per_thread;
  Function exported_function;
  Function refusal;
};

std::span<const Symbol> driver_symbols() noexcept;
bool implemented(const Symbol& symbol) noexcept;

}  // namespace simgpu
