#pragma once

// Where the exported functions go (interpose/entries.S), and what they stand for in the real driver.
// Threads: any; an entry changes once, from `first call` to its target, after all that the target needs is in place.

#include <array>
#include <atomic>

#include "interpose/rows.h"

namespace tensorpager {

/// Functions of the real driver by row; null where it lacks one.
using RealFunctions = std::array<void*, kRows.size()>;

inline RealFunctions real_functions{};

/// For hooks only: the driver has been opened and has this function.
template <class Function>
Function real_function(Row row) noexcept {
  return reinterpret_cast<Function>(real_functions[index_of(row)]);
}

/// The exported function of a row, as programs see it.
void* exported_function(Row row) noexcept;

/// Entries go to `real`, and where `managed` to the hooks. Call once, or again with the same arguments.
void install_entries(const RealFunctions& real, bool managed) noexcept;

/// Entries answer CUDA_ERROR_NO_DEVICE.
void install_no_driver() noexcept;

/// Where the entry of a row goes now.
void* entry(Row row) noexcept;

}  // namespace tensorpager
