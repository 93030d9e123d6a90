#pragma once

#include <algorithm>
#include <cstddef>

namespace tensorpager {

/// What the process may occupy on the device, in bytes. The ceiling counts everything that exists: chunks, what passes
/// through to the driver, and the fixed cost (context, code, and a reserve for the driver's own use). Under the pager's
/// mutex.
struct Budget {
  std::size_t limit = 0;
  std::size_t measured_fixed = 0;
  std::size_t reserve = 0;
  std::size_t granularity = 1;
  std::size_t large_passed_through = 0;  ///< allocations of a granule and more, each rounded up
  std::size_t small_passed_through = 0;  ///< the driver packs them into blocks of a granule

  std::size_t fixed() const noexcept { return measured_fixed + reserve; }

  std::size_t round_up(std::size_t bytes) const noexcept {
    return (bytes + granularity - 1) / granularity * granularity;
  }
  std::size_t passed_through() const noexcept { return large_passed_through + round_up(small_passed_through); }
  /// What an allocation of `bytes` that the driver makes adds to the count.
  void pass_through(std::size_t bytes) noexcept {
    bytes < granularity ? small_passed_through += bytes : large_passed_through += round_up(bytes);
  }
  void passed_through_freed(std::size_t bytes) noexcept {
    std::size_t& count = bytes < granularity ? small_passed_through : large_passed_through;
    count -= std::min(count, bytes < granularity ? bytes : round_up(bytes));
  }

  /// Bytes that chunks may take.
  std::size_t for_chunks() const noexcept {
    const std::size_t other = fixed() + passed_through();
    return limit > other ? limit - other : 0;
  }
};

}  // namespace tensorpager
