#include "interpose/substitute.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "runtime/log.h"

namespace tensorpager {
namespace {

struct Known {
  void* real;
  Row row;
};

std::array<Known, kRows.size()> known{};  // sorted by address

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

/// The row that a request means by the documented rule: the newest variant up to the version asked for, of the stream
/// meaning asked for where the name has both.
std::optional<Row> row_meant(const Request& request) noexcept {
  const auto best_of = [&](NullStream stream) {
    std::optional<Row> best;
    for (std::size_t row = 0; row < kRows.size(); ++row) {
      const RowInfo& candidate = kRows[row];
      const bool fits = candidate.base == request.name && candidate.null_stream == stream && candidate.version > 0 &&
                        candidate.version <= request.version;
      if (fits && (!best || candidate.version > info(*best).version)) best = static_cast<Row>(row);
    }
    return best;
  };
  const auto own_stream = per_thread(request) ? best_of(NullStream::per_thread) : std::nullopt;
  return own_stream ? own_stream : best_of(NullStream::legacy);
}

/// The driver gave out an address that is none of its exported ones. Up to the version of the table's toolkit the
/// request says which variant it is; later ones may have another signature. The resolver is exchanged in any case,
/// since all that follows hangs on it.
void* substitute_by_name(void* real, const Request& request) noexcept {
  const auto row = row_meant(request);
  if (!row || info(*row).symbol_class == SymbolClass::forwards) return real;
  const bool certain = request.version <= CUDA_VERSION || info(*row).symbol_class == SymbolClass::resolve;
  if (certain && real_functions[index_of(*row)] != nullptr) return exported_function(*row);
  TENSORPAGER_LOG(warn, "driver",
                  "the driver has a variant of {} that this version does not know: calls of it are not managed. Update "
                  "tensorpager, or set TENSORPAGER_DISABLE=1",
                  request.name);
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

}  // namespace tensorpager
