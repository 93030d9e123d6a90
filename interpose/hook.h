#pragma once

// How a hook is written. A teller says what one kind of call is to the runtime:
//
//   inline CUresult free_async(const Call& call, CUdeviceptr address, CUstream stream) {
//     return on_free_async(address, call.on(stream), call.forward);
//   }
//   TENSORPAGER_HOOK(cuMemFreeAsync, free_async)
//   TENSORPAGER_HOOK(cuMemFreeAsync_ptsz, free_async)
//
// The hook itself is made from it: guard, tell, forward. Its signature is that of the declaration in cuda.h, so a
// teller that does not fit a version of the function does not compile. Hooks run only after the driver was opened and
// the runtime started.

#include <cuda.h>

#include "interpose/entry_table.h"
#include "interpose/rows.h"
#include "runtime/hooks.h"

namespace tensorpager {

/// One call that a hook passes on: which stream its NULL means, and how to make it.
struct Call {
  bool null_is_per_thread;
  Forward forward;

  StreamRef on(CUstream stream) const noexcept { return {stream, null_is_per_thread}; }
  StreamRef on_null() const noexcept { return on(nullptr); }
};

template <Row kRow, class Function, auto kTell>
struct Hook;

template <Row kRow, class... Arguments, auto kTell>
struct Hook<kRow, CUresult (*)(Arguments...), kTell> {
  static CUresult call(Arguments... arguments) noexcept {
    const auto forward = [&] { return real_function<CUresult (*)(Arguments...)>(kRow)(arguments...); };
    return active() ? kTell(Call{info(kRow).null_stream == NullStream::per_thread, forward}, arguments...) : forward();
  }
};

/// The hook of a row. Undefined for a row without one: a row whose class is not `forwards` then fails to compile.
template <Row kRow>
struct HookOf;

}  // namespace tensorpager

#define TENSORPAGER_HOOK(exported, tell)                                                      \
  template <>                                                                                 \
  struct HookOf<Row::exported> {                                                              \
    static constexpr auto function = &Hook<Row::exported, decltype(&::exported), tell>::call; \
  };
/// A function and its variant for per-thread default streams.
#define TENSORPAGER_HOOKS(exported, variant, tell) \
  TENSORPAGER_HOOK(exported, tell)                 \
  TENSORPAGER_HOOK(exported##variant, tell)
