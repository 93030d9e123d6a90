#pragma once

// The one device scheduler. Ops are queued by API calls and run inside API calls, in the calling thread, under the
// driver's lock.
//
// Seed 0, canonical: whatever waits for the device runs everything submitted so far, in submission order.
// Seed 1 and more: a seeded legal order. A submission may run the new op at once with what it depends on, in some
// streams often and in others never; a wait runs what it waits for and perhaps other ops before, in any order that
// streams and events allow. So a missing wait becomes a wrong byte.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <unordered_set>

#include "tests/simgpu/device/timeline.h"

namespace simgpu {

struct Submission {
  OpKind kind;
  Engine engine = Engine::none;
  OpRun run;
  std::vector<OpRef> after = {};  ///< beyond the order of the stream
};

class Scheduler {
 public:
  struct Report {
    std::function<void(const Op&)> ran;
    std::function<void(const Op&, const Fault&)> failed;
  };

  /// `lock` is the driver's; it is let go only while a host function of the program runs.
  Scheduler(HostClock& clock, const Profile& profile, std::uint64_t seed, std::mutex& lock, Report report);

  OpRef submit(Stream& stream, Submission submission);
  /// Runs the op and makes the host wait for its end.
  void wait(const OpRef& op);
  void wait_for_stream(Stream& stream);
  void wait_for_context(Context& context);
  /// True when the op has ended by now; false may run ops, so that polling comes to an end.
  bool poll(const OpRef& op);
  /// Has ended by now; runs nothing.
  bool ended(const OpRef& op) const noexcept;
  void wait_for_event(Stream& stream, const Event& event);
  void record(Stream& stream, Event& event);
  /// Stream order and events alone make what `stream` does next come after that op.
  static bool ordered_after(const Stream& stream, std::uint32_t other, std::uint64_t index) noexcept;
  /// Runs a function of the program without the lock.
  void call_host(const std::function<void()>& function);
  std::size_t queued() const noexcept { return queue_.size(); }

 private:
  std::vector<OpRef> order(Stream& stream, Op& op);
  void limit_depth(Stream& stream);
  unsigned early_percent(const Stream& stream) const noexcept;
  void run_for(const OpRef& op);
  void run_canonical(std::uint64_t last_sequence);
  void run_exactly(const OpRef& op);
  void run_mixed(const OpRef& op);
  void run(OpRef op);
  bool runnable(const Op& op) const noexcept;
  void drop_queue(Context& context);
  void place_all();
  bool chance(unsigned percent) { return random_() % 100 < percent; }

  HostClock& clock_;
  const Profile& profile_;
  std::uint64_t seed_;
  std::mutex& lock_;
  Report report_;
  Timeline timeline_;
  std::mt19937_64 random_;
  std::uint64_t sequence_ = 0;
  std::deque<OpRef> queue_;  // submitted and not yet run, in submission order
  std::vector<OpRef> unplaced_;
  unsigned running_ = 0;
  std::condition_variable ran_;
};

}  // namespace simgpu
