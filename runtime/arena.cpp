#include "runtime/arena.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "runtime/driver.h"

namespace tensorpager {

static_assert(std::is_trivially_destructible_v<Granule>, "the table is zeroed memory");

namespace {

// Far from host addresses and with upper bits that floats, halves and small integers seldom have; the driver may choose
// others.
constexpr CUdeviceptr kPreferredBase = 0x2A5A'0000'0000;

}  // namespace

tl::expected<std::unique_ptr<Arena>, CUresult> Arena::reserve(std::size_t bytes, std::size_t granularity) {
  std::size_t granules = std::clamp<std::size_t>(bytes / granularity, 1, kMostGranules);
  CUdeviceptr base = 0;
  CUresult result = driver().cuMemAddressReserve(&base, granules * granularity, granularity, kPreferredBase, 0);
  // Addresses may be scarcer than asked for (limits, other reservations): less will do.
  while (result != CUDA_SUCCESS && granules > 0) {
    result = driver().cuMemAddressReserve(&base, granules * granularity, granularity, 0, 0);
    if (result != CUDA_SUCCESS) granules /= 2;
  }
  if (result != CUDA_SUCCESS) return tl::unexpected(result);
  std::unique_ptr<Arena> arena(new Arena(base, granules * granularity, granularity));
  if (arena->granules_ == nullptr) return tl::unexpected(CUDA_ERROR_OUT_OF_MEMORY);
  return arena;
}

Arena::~Arena() {
  driver().cuMemAddressFree(base_, bytes_);
}

Arena::Arena(CUdeviceptr base, std::size_t bytes, std::size_t granularity) noexcept
    : base_(base),
      bytes_(bytes),
      granularity_(granularity),
      shift_(static_cast<unsigned>(std::countr_zero(granularity))),
      granules_(static_cast<Granule*>(std::calloc(bytes / granularity, sizeof(Granule))),
                [](Granule* table) { std::free(table); }) {}

GranuleIndex Arena::take_same_size(std::uint32_t count, StreamId stream) {
  const auto entry = given_back_.find(count);
  if (entry == given_back_.end() || entry->second.empty()) return kNoGranule;
  auto& runs = entry->second;
  // The latest of the same stream: its chunks are the least likely to have been taken.
  const auto same = std::find_if(runs.rbegin(), runs.rend(), [&](const Run& run) { return run.stream == stream; });
  const auto chosen = same == runs.rend() ? runs.begin() : std::prev(same.base());
  const GranuleIndex first = chosen->first;
  runs.erase(chosen);
  return first;
}

// The last resort of a job whose sizes never repeat: joins neighbours and cuts what fits best.
GranuleIndex Arena::take_joined(std::uint32_t count) {
  std::map<GranuleIndex, std::uint32_t> joined;
  for (const auto& [size, runs] : given_back_) {
    for (const Run& run : runs) joined.emplace(run.first, size);
  }
  for (auto run = joined.begin(); run != joined.end();) {
    const auto next = std::next(run);
    if (next != joined.end() && run->first + run->second == next->first) {
      run->second += next->second;
      joined.erase(next);
    } else {
      run = next;
    }
  }
  auto best = joined.end();
  for (auto run = joined.begin(); run != joined.end(); ++run) {
    if (run->second >= count && (best == joined.end() || run->second < best->second)) best = run;
  }
  if (best == joined.end()) return kNoGranule;
  const auto [first, size] = *best;
  joined.erase(best);
  if (size > count) joined.emplace(first + count, size - count);
  given_back_.clear();
  for (const auto& [start, length] : joined) given_back_[length].push_back({start, ~StreamId{0}});
  return first;
}

GranuleIndex Arena::take(std::uint32_t count, StreamId stream) {
  if (const GranuleIndex first = take_same_size(count, stream); first != kNoGranule) return first;
  if ((bytes_ >> shift_) - fresh_ >= count) {
    const GranuleIndex first = fresh_;
    fresh_ += count;
    return first;
  }
  return take_joined(count);
}

void Arena::give_back(GranuleIndex first, std::uint32_t count, StreamId stream) {
  given_back_[count].push_back({first, stream});
}

}  // namespace tensorpager
