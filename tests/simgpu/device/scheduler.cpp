#include "tests/simgpu/device/scheduler.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace simgpu {
namespace {

// How often a new op runs at once, one of these a stream: so one stream's work waits long while another's runs ahead.
constexpr unsigned kEarlyPercents[] = {0, 2, 25, 80};
constexpr unsigned kMixedPercent = 50;  // a wait runs other ops too
constexpr unsigned kPollPercent = 50;   // a poll runs what it asks about

// SplitMix64: neighbouring seeds and streams give unrelated numbers.
std::uint64_t scatter(std::uint64_t value) noexcept {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

// What comes before an op and has not run, the op included.
std::unordered_set<const Op*> needed_by(const OpRef& op) {
  std::unordered_set<const Op*> needed;
  std::vector<const Op*> open = {op.get()};
  while (!open.empty()) {
    const Op* next = open.back();
    open.pop_back();
    if (next->has_run() || !needed.insert(next).second) continue;
    for (const OpRef& before : next->after) open.push_back(before.get());
  }
  return needed;
}

void follow(Stream& stream, const Stream& other, std::vector<OpRef>& after) {
  if (other.tail) after.push_back(other.tail);
  if (stream.before[other.ordinal] == other.ops) return;
  merge(stream.before, other.before);
  stream.before[other.ordinal] = other.ops;
}

}  // namespace

Scheduler::Scheduler(HostClock& clock, const Profile& profile, std::uint64_t seed, std::mutex& lock, Report report)
    : clock_(clock),
      profile_(profile),
      seed_(seed),
      lock_(lock),
      report_(std::move(report)),
      timeline_(profile.duplex_loss),
      random_(seed) {}

bool Scheduler::ended(const OpRef& op) const noexcept {
  return !op || (op->state == Op::State::placed && op->end <= clock_.now());
}

// The rules of streams: own order; a legacy op after everything in blocking streams, an op of a blocking stream after
// the legacy one.
std::vector<OpRef> Scheduler::order(Stream& stream, Op& op) {
  std::vector<OpRef> after;
  if (stream.tail) after.push_back(stream.tail);
  Context& context = *stream.context;
  if (stream.legacy) {
    std::erase_if(context.streams, [&](const StreamRef& other) { return other->destroyed && ended(other->tail); });
    for (const StreamRef& other : context.streams) {
      if (!other->non_blocking) follow(stream, *other, after);
    }
    for (const auto& [thread, other] : context.per_thread) follow(stream, *other, after);
  } else if (!stream.non_blocking) {
    follow(stream, *context.legacy, after);
  }
  std::erase_if(after,
                [&](const OpRef& before) { return before->state == Op::State::placed && before->end <= op.submitted; });
  return after;
}

OpRef Scheduler::submit(Stream& stream, Submission submission) {
  limit_depth(stream);
  auto op = std::make_shared<Op>();
  op->sequence = ++sequence_;
  op->stream = stream.ordinal;
  op->index = ++stream.ops;
  op->kind = submission.kind;
  op->engine = submission.engine;
  op->context = stream.context;
  op->submitted = clock_.now();
  op->run = std::move(submission.run);
  op->after = order(stream, *op);
  std::copy(submission.after.begin(), submission.after.end(), std::back_inserter(op->after));
  stream.tail = op;
  stream.in_flight.push_back(op);
  queue_.push_back(op);
  if (seed_ != 0 && chance(early_percent(stream))) {
    const auto needed = needed_by(op);
    // A host function may take a lock that the submitting thread holds: never run one inside a submission.
    const bool calls_back = std::any_of(needed.begin(), needed.end(), [](const Op* before) {
      return before->kind == OpKind::host_function || before->state == Op::State::running;
    });
    if (!calls_back) run_exactly(op);
    place_all();
  }
  return op;
}

unsigned Scheduler::early_percent(const Stream& stream) const noexcept {
  return kEarlyPercents[scatter(scatter(seed_) + stream.ordinal) % std::size(kEarlyPercents)];
}

void Scheduler::limit_depth(Stream& stream) {
  while (!stream.in_flight.empty() && ended(stream.in_flight.front())) stream.in_flight.pop_front();
  if (stream.in_flight.size() < profile_.queue_depth) return;
  const OpRef oldest = stream.in_flight.front();
  wait(oldest);
  while (!stream.in_flight.empty() && ended(stream.in_flight.front())) stream.in_flight.pop_front();
}

void Scheduler::wait(const OpRef& op) {
  if (!op) return;
  run_for(op);
  place_all();
  clock_.wait_until(op->end);
  if (queue_.empty() && running_ == 0) timeline_.forget_before(clock_.now());
}

void Scheduler::wait_for_stream(Stream& stream) {
  wait(OpRef(stream.tail));
}

void Scheduler::wait_for_context(Context& context) {
  std::vector<OpRef> tails = {context.legacy->tail};
  for (const StreamRef& stream : context.streams) tails.push_back(stream->tail);
  for (const auto& [thread, stream] : context.per_thread) tails.push_back(stream->tail);
  for (const OpRef& tail : tails) wait(tail);
}

bool Scheduler::poll(const OpRef& op) {
  if (!op) return true;
  if (!op->has_run() && (seed_ == 0 || chance(kPollPercent))) run_for(op);
  place_all();
  return ended(op);
}

void Scheduler::record(Stream& stream, Event& event) {
  event.op = submit(stream, {OpKind::event, Engine::none, [] { return Cost{}; }});
  event.before = stream.before;
  event.before[stream.ordinal] = event.op->index;
}

void Scheduler::wait_for_event(Stream& stream, const Event& event) {
  if (!event.op) return;
  merge(stream.before, event.before);
  submit(stream, {OpKind::wait, Engine::none, [] { return Cost{}; }, {event.op}});
}

bool Scheduler::ordered_after(const Stream& stream, std::uint32_t other, std::uint64_t index) noexcept {
  if (other == stream.ordinal) return true;
  const auto known = stream.before.find(other);
  return known != stream.before.end() && known->second >= index;
}

void Scheduler::call_host(const std::function<void()>& function) {
  lock_.unlock();
  function();
  lock_.lock();
}

void Scheduler::run_for(const OpRef& op) {
  if (op->has_run()) return;
  if (seed_ == 0) {
    run_canonical(sequence_);
  } else if (chance(kMixedPercent)) {
    run_mixed(op);
  }
  run_exactly(op);
}

bool Scheduler::runnable(const Op& op) const noexcept {
  return std::all_of(op.after.begin(), op.after.end(), [](const OpRef& before) { return before->has_run(); });
}

void Scheduler::run_canonical(std::uint64_t last_sequence) {
  for (;;) {
    const auto next = std::find_if(queue_.begin(), queue_.end(), [&](const OpRef& op) { return runnable(*op); });
    if (next == queue_.end() || (*next)->sequence > last_sequence) return;
    run(*next);
  }
}

void Scheduler::run_exactly(const OpRef& op) {
  while (!op->has_run()) {
    const auto needed = needed_by(op);
    const auto next = std::find_if(queue_.begin(), queue_.end(), [&](const OpRef& queued) {
      return needed.contains(queued.get()) && runnable(*queued);
    });
    if (next != queue_.end()) {
      run(*next);
    } else if (running_ != 0) {
      std::unique_lock guard(lock_, std::adopt_lock);  // another thread is in a host function
      ran_.wait(guard);
      guard.release();
    } else {
      throw std::logic_error("an op waits for one that is nowhere");
    }
  }
}

void Scheduler::run_mixed(const OpRef& op) {
  while (!op->has_run()) {
    std::vector<OpRef> candidates;
    std::copy_if(queue_.begin(), queue_.end(), std::back_inserter(candidates),
                 [&](const OpRef& queued) { return runnable(*queued); });
    if (candidates.empty()) return;
    run(candidates[random_() % candidates.size()]);
  }
}

void Scheduler::run(OpRef op) {
  queue_.erase(std::find(queue_.begin(), queue_.end(), op));
  op->state = Op::State::running;
  ++running_;
  const auto result = op->run();
  --running_;
  op->run = nullptr;
  op->state = Op::State::done;
  unplaced_.push_back(op);
  if (result) {
    op->cost = *result;
    report_.ran(*op);
  } else {
    op->context->error = result.error().result;
    report_.failed(*op, result.error());
    drop_queue(*op->context);
  }
  ran_.notify_all();
}

// After a fault nothing of that context runs any more.
void Scheduler::drop_queue(Context& context) {
  std::erase_if(queue_, [&](const OpRef& op) {
    if (op->context != &context) return false;
    op->run = nullptr;
    op->after.clear();
    op->start = op->end = clock_.now();
    op->state = Op::State::placed;
    return true;
  });
}

void Scheduler::place_all() {
  if (unplaced_.empty()) return;
  timeline_.place(std::exchange(unplaced_, {}));
}

}  // namespace simgpu
