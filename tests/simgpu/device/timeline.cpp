#include "tests/simgpu/device/timeline.h"

#include <cmath>
#include <iterator>
#include <queue>
#include <tuple>
#include <unordered_map>

namespace simgpu {
namespace {

struct Waiting {
  std::size_t blockers = 0;
  std::vector<OpRef> followers;
};

// Smallest first.
struct Ready {
  Nanoseconds time;
  OpRef op;
  bool operator<(const Ready& other) const {
    return std::tie(time, op->stream, op->sequence) > std::tie(other.time, other.op->stream, other.op->sequence);
  }
};

Nanoseconds ready_time(const Op& op) {
  Nanoseconds time = op.submitted;
  for (const OpRef& before : op.after) time = std::max(time, before->end);
  return time;
}

std::unordered_map<Op*, Waiting> dependencies(const std::vector<OpRef>& ops) {
  std::unordered_map<Op*, Waiting> graph;
  for (const OpRef& op : ops) graph[op.get()];
  for (const OpRef& op : ops) {
    for (const OpRef& before : op->after) {
      if (before->state == Op::State::placed) continue;
      graph[before.get()].followers.push_back(op);
      ++graph[op.get()].blockers;
    }
  }
  return graph;
}

}  // namespace

void Timeline::place(std::vector<OpRef> ops) {
  auto graph = dependencies(ops);
  std::priority_queue<Ready> ready;
  for (const OpRef& op : ops) {
    if (graph[op.get()].blockers == 0) ready.push({ready_time(*op), op});
  }
  while (!ready.empty()) {
    const auto [time, op] = ready.top();
    ready.pop();
    place_one(*op, time);
    for (const OpRef& follower : graph[op.get()].followers) {
      if (--graph[follower.get()].blockers == 0) ready.push({ready_time(*follower), follower});
    }
  }
}

void Timeline::place_one(Op& op, Nanoseconds ready) {
  Busy& busy = busy_[static_cast<std::size_t>(op.engine)];
  Nanoseconds start = ready, end = end_of(op.engine, start, op.cost);
  if (op.engine != Engine::none) {
    auto next = busy.upper_bound(start);
    if (next != busy.begin()) start = std::max(start, std::prev(next)->second);
    end = end_of(op.engine, start, op.cost);
    for (; next != busy.end() && next->first < end; ++next) {
      start = next->second;
      end = end_of(op.engine, start, op.cost);
    }
    if (end > start) busy[start] = end;
  }
  op.start = start;
  op.end = end;
  op.state = Op::State::placed;
  op.after.clear();
}

// While a transfer runs the other way, this one progresses slower. What is placed already keeps its times.
Nanoseconds Timeline::end_of(Engine engine, Nanoseconds start, const Cost& cost) const {
  Nanoseconds at = start + cost.latency;
  if (engine != Engine::copy_in && engine != Engine::copy_out) return at + cost.transfer;
  const Busy& other = busy_[static_cast<std::size_t>(engine == Engine::copy_in ? Engine::copy_out : Engine::copy_in)];
  double left = static_cast<double>(cost.transfer);
  const double slow = 1.0 - duplex_loss_;
  auto next = other.upper_bound(at);
  if (next != other.begin() && std::prev(next)->second > at) --next;
  for (; next != other.end() && left > 0; ++next) {
    if (next->first > at) {
      const double free_time = static_cast<double>(next->first - at);
      if (left <= free_time) break;
      left -= free_time;
      at = next->first;
    }
    const double shared_time = static_cast<double>(next->second - at);
    if (left <= shared_time * slow) return at + static_cast<Nanoseconds>(std::ceil(left / slow));
    left -= shared_time * slow;
    at = next->second;
  }
  return at + static_cast<Nanoseconds>(std::ceil(left));
}

void Timeline::forget_before(Nanoseconds time) {
  for (Busy& busy : busy_) {
    while (!busy.empty() && busy.begin()->second <= time) busy.erase(busy.begin());
  }
}

}  // namespace simgpu
