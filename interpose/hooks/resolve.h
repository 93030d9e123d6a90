#pragma once

// cuGetProcAddress: the real resolver answers, and its answer is exchanged for our function of exactly that variant.
// These two hooks stay in force when the runtime is not active: what they hand out is kept by the program for ever.

#include "interpose/hook.h"
#include "interpose/substitute.h"

namespace tensorpager {

inline CUresult resolve_v1(const char* name, void** function, int version, cuuint64_t flags) noexcept {
  const CUresult result =
      real_function<decltype(&::cuGetProcAddress)>(Row::cuGetProcAddress)(name, function, version, flags);
  if (result == CUDA_SUCCESS && function != nullptr) *function = substitute(*function, {name, version, flags});
  return result;
}
inline CUresult resolve_v2(const char* name, void** function, int version, cuuint64_t flags,
                           CUdriverProcAddressQueryResult* status) noexcept {
  const CUresult result =
      real_function<decltype(&::cuGetProcAddress_v2)>(Row::cuGetProcAddress_v2)(name, function, version, flags, status);
  if (result == CUDA_SUCCESS && function != nullptr) *function = substitute(*function, {name, version, flags});
  return result;
}
template <>
struct HookOf<Row::cuGetProcAddress> {
  static constexpr auto function = &resolve_v1;
};
template <>
struct HookOf<Row::cuGetProcAddress_v2> {
  static constexpr auto function = &resolve_v2;
};

}  // namespace tensorpager
