#include "interpose/hook_table.h"

#include "interpose/hooks/code.h"
#include "interpose/hooks/copy.h"
#include "interpose/hooks/graph.h"
#include "interpose/hooks/launch.h"
#include "interpose/hooks/memory.h"
#include "interpose/hooks/memset.h"
#include "interpose/hooks/pin.h"
#include "interpose/hooks/resolve.h"
#include "interpose/hooks/stream.h"

namespace tensorpager {
namespace {

template <Row kRow>
void* hook_of() noexcept {
  if constexpr (info(kRow).symbol_class == SymbolClass::forwards)
    return nullptr;
  else
    return reinterpret_cast<void*>(HookOf<kRow>::function);
}

}  // namespace

const std::array<void*, kRows.size()> kHooks = {
#define TENSORPAGER_DRIVER_SYMBOL(exported, ...) hook_of<Row::exported>(),
#include "runtime/driver_symbols.def"
#undef TENSORPAGER_DRIVER_SYMBOL
};

}  // namespace tensorpager
