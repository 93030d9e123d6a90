#include "interpose/substitute.h"

#include <algorithm>
#include <atomic>

#include "runtime/log.h"

namespace tensorpager {
namespace {

struct Known {
  void* real;
  Row row;
};

std::array<Known, kRows.size()> known{};  // sorted by address
std::atomic<unsigned long> missed{0};

bool less(const void* a, const void* b) noexcept {
  return std::less<const void*>()(a, b);
}

bool per_thread(const Request& request) noexcept {
  return (request.flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
}

/// How well a row answers the request. A driver may export one function under several names: then the newest version
/// holds.
int fit(Row row, const Request& request) noexcept {
  const RowInfo& candidate = info(row);
  if (candidate.base != request.name) return 0;
  const bool stream_fits = (candidate.null_stream == NullStream::per_thread) == per_thread(request);
  constexpr int kAboveEveryVersion = 1'000'000;
  return 1 + (stream_fits ? kAboveEveryVersion : 0) + (candidate.version <= request.version ? candidate.version : 0);
}

void* ours(Row row, void* real) noexcept {
  return info(row).symbol_class == SymbolClass::forwards ? real : exported_function(row);
}

/// The resolver itself is recognised by name: all that follows hangs on it.
void* substitute_by_name(void* real, const Request& request) noexcept {
  if (std::string_view(request.name) == "cuGetProcAddress")
    return exported_function(request.version >= info(Row::cuGetProcAddress_v2).version ? Row::cuGetProcAddress_v2
                                                                                       : Row::cuGetProcAddress);
  const auto hooked = [&](const RowInfo& row) {
    return row.base == request.name && row.symbol_class != SymbolClass::forwards;
  };
  if (std::ranges::any_of(kRows, hooked) && missed.fetch_add(1, std::memory_order_relaxed) == 0) {
    TENSORPAGER_LOG(
        warn, "driver",
        "the driver has a variant of {} that this version does not know: calls of it are not managed. Update "
        "tensorpager, or set TENSORPAGER_DISABLE=1",
        request.name);
  }
  return real;
}

}  // namespace

void index_real_functions(const RealFunctions& real) noexcept {
  for (std::size_t row = 0; row < kRows.size(); ++row) known[row] = {real[row], static_cast<Row>(row)};
  std::ranges::sort(known, less, &Known::real);
}

void* substitute(void* real, const Request& request) noexcept {
  if (real == nullptr || request.name == nullptr) return real;
  const auto [first, last] = std::ranges::equal_range(known, real, less, &Known::real);
  if (first == last) return substitute_by_name(real, request);
  const auto best = std::ranges::max_element(first, last, {}, [&](const Known& k) { return fit(k.row, request); });
  return ours(best->row, real);
}

unsigned long missed_functions() noexcept {
  return missed.load(std::memory_order_relaxed);
}

}  // namespace tensorpager
