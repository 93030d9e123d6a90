#pragma once

// Grammar of single settings: text to value. Sizes and durations need a unit, except 0; nothing is rounded silently.
// Errors are texts that complete the sentence "budget:20 ...": "has no unit. Write 20GiB (or 80%)."

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace tensorpager {

/// Bytes, or a share of a whole that the reader knows (the device's memory, the host's).
struct Amount {
  std::uint64_t bytes = 0;
  double percent = 0;  ///< when above 0, `bytes` means nothing

  std::uint64_t of(std::uint64_t whole) const noexcept {
    return percent > 0 ? static_cast<std::uint64_t>(static_cast<double>(whole) * (percent / 100)) : bytes;
  }
};

namespace option_values {

template <class Value>
using Parsed = tl::expected<Value, std::string>;
using Wrong = tl::unexpected<std::string>;

inline constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();

inline bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}
inline char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

inline std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return lower(c); });
  return out;
}

inline std::string_view trim(std::string_view text) noexcept {
  constexpr std::string_view kBlank = " \t\r\n";
  const auto first = text.find_first_not_of(kBlank);
  return first == std::string_view::npos ? std::string_view{}
                                         : text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

inline std::string quoted(std::string_view text) {
  return '"' + std::string(text) + '"';
}

inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

/// The candidate a typist most likely meant; empty when none is near.
inline std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates) {
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(word.size() / 3, 2) + 1;
  for (std::string_view candidate : candidates) {
    const bool longer_form = lower(word).starts_with(candidate);  // warning for warn
    const std::size_t distance = longer_form ? 1 : edit_distance(lower(word), candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

inline std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates) {
  const std::string_view meant = nearest(word, candidates);
  return meant.empty() ? std::string{} : " Did you mean " + quoted(meant) + "?";
}

inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// A decimal number before its unit: `digits` without the point, divided by `scale`.
struct Decimal {
  std::uint64_t digits = 0;
  std::uint64_t scale = 1;
  bool too_long = false;
  std::string_view unit;
};

inline std::optional<Decimal> read_decimal(std::string_view text) noexcept {
  Decimal out;
  bool point = false, any = false;
  std::size_t i = 0;
  for (; i < text.size() && (is_digit(text[i]) || (text[i] == '.' && !point)); ++i) {
    if (text[i] == '.') {
      point = true;
      continue;
    }
    any = true;
    const auto digit = static_cast<std::uint64_t>(text[i] - '0');
    if (out.digits > (kMost - digit) / 10 || out.scale > kMost / 10) {
      out.too_long = true;
      continue;
    }
    out.digits = out.digits * 10 + digit;
    if (point) out.scale *= 10;
  }
  if (!any) return std::nullopt;
  out.unit = trim(text.substr(i));
  return out;
}

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

// As coreutils: K and KiB are 2^10, KB is 10^3.
inline constexpr std::array kSizeUnits = {
    Unit{"b", 1},
    Unit{"k", 1ull << 10},
    Unit{"kb", 1'000},
    Unit{"kib", 1ull << 10},
    Unit{"m", 1ull << 20},
    Unit{"mb", 1'000'000},
    Unit{"mib", 1ull << 20},
    Unit{"g", 1ull << 30},
    Unit{"gb", 1'000'000'000},
    Unit{"gib", 1ull << 30},
    Unit{"t", 1ull << 40},
    Unit{"tb", 1'000'000'000'000},
    Unit{"tib", 1ull << 40},
};
inline constexpr std::array kTimeUnits = {Unit{"s", 1'000'000'000}, Unit{"ms", 1'000'000}, Unit{"us", 1'000}};

/// What kind of quantity, and how a right one looks.
struct Quantity {
  const Unit* units;
  std::size_t unit_count;
  std::string_view example;  ///< appended to the digits that lack a unit
  std::string_view also;
};

inline constexpr Quantity kSize{kSizeUnits.data(), kSizeUnits.size(), "GiB", ""};
inline constexpr Quantity kAmount{kSizeUnits.data(), kSizeUnits.size(), "GiB", " (or 80%)"};
inline constexpr Quantity kDuration{kTimeUnits.data(), kTimeUnits.size(), "s", ""};

inline std::string write_like(std::string_view digits, const Quantity& quantity) {
  return " Write " + std::string(digits) + std::string(quantity.example) + std::string(quantity.also) + '.';
}

inline Parsed<std::uint64_t> scaled(const Decimal& number, std::uint64_t factor) {
  const auto exact = static_cast<unsigned __int128>(number.digits) * factor;
  if (number.too_long || exact / number.scale > kMost) return Wrong("is too large. The most is 8388607TiB.");
  if (exact % number.scale != 0 && number.scale > factor) return Wrong("has more digits than its unit can hold.");
  return static_cast<std::uint64_t>(exact / number.scale);
}

inline Parsed<std::uint64_t> parse_quantity(std::string_view text, const Quantity& quantity) {
  const auto number = read_decimal(text);
  if (!number) return Wrong("is no number with a unit." + write_like("20", quantity));
  if (number->unit.empty()) {
    if (number->digits == 0 && !number->too_long) return 0;
    return Wrong("has no unit." + write_like(text, quantity));
  }
  const std::string unit = lower(number->unit);
  const Unit* const end = quantity.units + quantity.unit_count;
  const Unit* const found = std::find_if(quantity.units, end, [&](const Unit& u) { return u.name == unit; });
  if (found == end) {
    const std::string digits(text.substr(0, text.find_first_not_of("0123456789.")));
    return Wrong("has the unknown unit " + quoted(number->unit) + "." + write_like(digits, quantity));
  }
  return scaled(*number, found->factor);
}

inline Parsed<Amount> parse_amount(std::string_view text) {
  if (!text.ends_with('%')) return parse_quantity(text, kAmount).map([](std::uint64_t bytes) { return Amount{bytes}; });
  const auto number = read_decimal(text.substr(0, text.size() - 1));
  if (!number || !number->unit.empty()) return Wrong("is no percentage. Write 80%.");
  const double percent = static_cast<double>(number->digits) / static_cast<double>(number->scale);
  if (number->too_long || percent <= 0 || percent > 100) return Wrong("is out of range. Write 1% to 100%.");
  return Amount{0, percent};
}

inline Parsed<bool> parse_boolean(std::string_view text) {
  const std::string word = lower(text);
  for (std::string_view yes : {"1", "true", "on", "yes"})
    if (word == yes) return true;
  for (std::string_view no : {"0", "false", "off", "no"})
    if (word == no) return false;
  return Wrong("is neither yes nor no. Write 1 or 0.");
}

inline Parsed<std::string> parse_word(std::string_view text, const std::vector<std::string_view>& words) {
  if (std::find(words.begin(), words.end(), text) != words.end()) return std::string(text);
  std::string list;
  for (std::string_view word : words) list += (list.empty() ? "" : ", ") + std::string(word);
  return Wrong("is none of: " + list + "." + did_you_mean(text, words));
}

inline Parsed<std::string> parse_pattern(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') continue;
    if (++i == text.size() || std::string_view("ph%").find(text[i]) == std::string_view::npos)
      return Wrong("has an unknown letter after %. Write %p (process), %h (host) or %%.");
  }
  return std::string(text);
}

}  // namespace option_values

/// A pattern's path in this process.
inline std::string expand_pattern(std::string_view pattern, std::int64_t process, std::string_view host) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool letter = pattern[i] == '%' && i + 1 < pattern.size();
    if (!letter)
      out += pattern[i];
    else if (pattern[++i] == 'p')
      out += std::to_string(process);
    else
      out += pattern[i] == 'h' ? std::string(host) : std::string(1, pattern[i]);
  }
  return out;
}

}  // namespace tensorpager
