#pragma once

// The rows of runtime/driver_symbols.def as data. Immutable.

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace tensorpager {

enum class Row : unsigned {
#define TENSORPAGER_DRIVER_SYMBOL(exported, ...) exported,
#include "runtime/driver_symbols.def"
#undef TENSORPAGER_DRIVER_SYMBOL
};

enum class SymbolClass { launch, alloc, free, copy, sync, stream, info, module, context, resolve, pins, forwards };
enum class NullStream { legacy, per_thread };

struct RowInfo {
  std::string_view exported;
  std::string_view base;
  int version;
  NullStream null_stream;
  SymbolClass symbol_class;
};

inline constexpr std::array kRows = {
#define TENSORPAGER_DRIVER_SYMBOL(exported, base, version, stream, symbol_class, capture) \
  RowInfo{#exported, #base, version, NullStream::stream, SymbolClass::symbol_class},
#include "runtime/driver_symbols.def"
#undef TENSORPAGER_DRIVER_SYMBOL
};

constexpr std::size_t index_of(Row row) noexcept {
  return static_cast<std::size_t>(row);
}
constexpr const RowInfo& info(Row row) noexcept {
  return kRows[index_of(row)];
}

static_assert(std::ranges::is_sorted(kRows, {}, &RowInfo::exported), "find_row searches by halves");

constexpr std::optional<Row> find_row(std::string_view exported) noexcept {
  const auto found = std::ranges::lower_bound(kRows, exported, {}, &RowInfo::exported);
  if (found == kRows.end() || found->exported != exported) return std::nullopt;
  return static_cast<Row>(found - kRows.begin());
}

}  // namespace tensorpager
