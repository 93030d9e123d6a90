// Every name of the toolkit's stub libcuda is exported. A name that no other file defines ends here: the definitions
// below are weak, refuse, and are logged. cuda.h is not included, since the signatures do not matter to a refusal.

#include "tests/simgpu/driver/unimplemented.h"

extern "C" {

#define TENSORPAGER_DRIVER_SYMBOL(exported, base, version, stream, class, capture) \
  static int refuse_##exported() {                                                 \
    return simgpu::refuse_call(#exported);                                         \
  }                                                                                \
  int exported() __attribute__((weak, alias("refuse_" #exported)));
#include "runtime/driver_symbols.def"
#undef TENSORPAGER_DRIVER_SYMBOL

}  // extern "C"

namespace simgpu {
namespace {

enum StreamRule { legacy, per_thread };

constexpr Symbol kSymbols[] = {
#define TENSORPAGER_DRIVER_SYMBOL(exported, base, version, stream, class, capture) \
  {#exported,                                                                      \
   #base,                                                                          \
   version,                                                                        \
   stream == per_thread,                                                           \
   reinterpret_cast<Symbol::Function>(exported),                                   \
   reinterpret_cast<Symbol::Function>(refuse_##exported)},
#include "runtime/driver_symbols.def"
#undef TENSORPAGER_DRIVER_SYMBOL
};

}  // namespace

std::span<const Symbol> driver_symbols() noexcept {
  return kSymbols;
}

bool implemented(const Symbol& symbol) noexcept {
  // Through volatile: the compiler may not reason that a weak alias equals its target.
  const volatile Symbol::Function exported = symbol.exported_function;
  const volatile Symbol::Function refusal = symbol.refusal;
  return exported != refusal;
}

}  // namespace simgpu
