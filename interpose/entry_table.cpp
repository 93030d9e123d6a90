#include "interpose/entry_table.h"

#include <cuda.h>

#include "interpose/hook_table.h"

extern "C" {
// Defined in entries.S, an element a row.
extern void* tensorpager_entries[];
extern void* const tensorpager_exports[];
}

namespace tensorpager {
namespace {

// Called with the arguments of any driver function: in the C calling convention the caller removes them.
CUresult no_device() noexcept {
  return CUDA_ERROR_NO_DEVICE;
}
CUresult not_found() noexcept {
  return CUDA_ERROR_NOT_FOUND;
}

void set_entry(std::size_t row, void* target) noexcept {
  __atomic_store_n(&tensorpager_entries[row], target, __ATOMIC_RELEASE);
}

}  // namespace

void* exported_function(Row row) noexcept {
  return tensorpager_exports[index_of(row)];
}

void* entry(Row row) noexcept {
  return __atomic_load_n(&tensorpager_entries[index_of(row)], __ATOMIC_ACQUIRE);
}

void install_entries(const RealFunctions& real, bool managed) noexcept {
  real_functions = real;
  for (std::size_t row = 0; row < kRows.size(); ++row) {
    void* const hook = managed ? kHooks[row] : nullptr;
    void* const target = hook != nullptr ? hook : real[row];
    set_entry(row, real[row] != nullptr ? target : reinterpret_cast<void*>(&not_found));
  }
}

void install_no_driver() noexcept {
  for (std::size_t row = 0; row < kRows.size(); ++row) set_entry(row, reinterpret_cast<void*>(&no_device));
}

}  // namespace tensorpager
