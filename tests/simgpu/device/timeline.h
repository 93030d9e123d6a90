#pragma once

// Virtual time: one host clock for the process, and a discrete-event computation that places ops on the device's
// engines.

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "tests/simgpu/device/op.h"

namespace simgpu {

class HostClock {
 public:
  Nanoseconds now() const noexcept { return now_; }
  void spend(Nanoseconds time) noexcept { now_ += time; }
  void wait_until(Nanoseconds time) noexcept { now_ = std::max(now_, time); }

 private:
  Nanoseconds now_ = 0;
};

class Timeline {
 public:
  explicit Timeline(double duplex_loss) : duplex_loss_(duplex_loss) {}

  /// Gives start and end to ops that have run; each op of `after` is placed or among them. Ready first, then (stream,
  /// sequence): each gets the earliest gap of its engine from the time it is ready.
  void place(std::vector<OpRef> ops);
  /// Nothing will be placed before `time` any more.
  void forget_before(Nanoseconds time);

 private:
  using Busy = std::map<Nanoseconds, Nanoseconds>;  // begin -> end, disjoint
  void place_one(Op& op, Nanoseconds ready);
  Nanoseconds end_of(Engine engine, Nanoseconds start, const Cost& cost) const;

  double duplex_loss_;
  std::array<Busy, kEngines> busy_;
};

}  // namespace simgpu
