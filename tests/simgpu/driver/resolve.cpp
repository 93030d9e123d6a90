// cuGetProcAddress: base name, CUDA version and flags to one of the exported symbols: the newest version that is not
// newer than asked for, the per-thread variant when asked for and there is one. Names that refuse everything are not
// found.

#include <cuda.h>

#include <string_view>
#include <unordered_map>

#include "tests/simgpu/driver/call.h"
#include "tests/simgpu/driver/unimplemented.h"

namespace simgpu {
namespace {

using Index = std::unordered_multimap<std::string_view, const Symbol*>;

const Index& by_base_name() {
  static const Index& index = *[] {
    auto* made = new Index;
    for (const Symbol& symbol : driver_symbols()) made->emplace(symbol.base, &symbol);
    return made;
  }();
  return index;
}

struct Found {
  const Symbol* symbol = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
};

Found find_variant(std::string_view name, int version, bool per_thread) {
  const auto [begin, end] = by_base_name().equal_range(name);
  Found found;
  for (auto at = begin; at != end; ++at) {
    const Symbol& symbol = *at->second;
    if (symbol.per_thread != per_thread) continue;
    if (found.status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND) found.status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    if (symbol.version > version || (found.symbol && found.symbol->version > symbol.version)) continue;
    found = {&symbol, CU_GET_PROC_ADDRESS_SUCCESS};
  }
  if (found.symbol && !implemented(*found.symbol)) return {};
  return found;
}

Found find(std::string_view name, int version, cuuint64_t flags) {
  if ((flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0) {
    const Found variant = find_variant(name, version, true);
    if (variant.status != CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND) return variant;
  }
  return find_variant(name, version, false);
}

CUresult resolve(const char* entry, const char* name, void** out, int version, cuuint64_t flags,
                 CUdriverProcAddressQueryResult* status) {
  return api({entry}, Needs::nothing, &ApiCosts::none, [&](Call& call) {
    call.log("symbol", name ? name : "");
    call.log("version", version);
    call.log("flags", flags);
    if (!name || !out || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) return CUDA_ERROR_INVALID_VALUE;
    const Found found = find(name, version, flags);
    *out = found.symbol ? reinterpret_cast<void*>(found.symbol->exported_function) : nullptr;
    if (status) *status = found.status;
    return found.symbol ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
  });
}

}  // namespace

extern "C" {

CUresult cuGetProcAddress(const char* name, void** out, int version, cuuint64_t flags) {
  return resolve(__func__, name, out, version, flags, nullptr);
}

CUresult cuGetProcAddress_v2(const char* name, void** out, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  return resolve(__func__, name, out, version, flags, status);
}

}  // extern "C"

int refuse_call(const char* name) {
  return api({name}, Needs::nothing, &ApiCosts::call, [](Call&) { return CUDA_ERROR_NOT_SUPPORTED; });
}

}  // namespace simgpu
