#pragma once

// What streams are made of. Ops run functionally, one at a time, inside API calls; when they run on the virtual clock
// is computed from what they cost (timeline.h).

#include <cuda.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "tests/simgpu/device/profile.h"

namespace simgpu {

enum class Engine { none, compute, copy_in, copy_out };
inline constexpr int kEngines = 4;

enum class OpKind {
  kernel,
  copy_in,
  copy_out,
  copy_on_device,
  copy_on_host,
  memset,
  host_function,
  event,
  wait,
  allocate,
  free
};
std::string_view name_of(OpKind kind) noexcept;

/// Engine time of one op: a fixed part, and a part that a transfer the other way stretches.
struct Cost {
  Nanoseconds latency = 0;
  Nanoseconds transfer = 0;
};

/// Why an op failed: its context is unusable from then on.
struct Fault {
  CUresult result;
  std::string detail;
};

using OpRun = std::function<tl::expected<Cost, Fault>()>;

/// For each stream, the index of its newest op that is known to come before.
using OrderClock = std::map<std::uint32_t, std::uint64_t>;
void merge(OrderClock& into, const OrderClock& other);

struct Context;
struct Stream;

struct Op {
  enum class State { queued, running, done, placed };

  std::uint64_t sequence;  ///< global submission order
  std::uint32_t stream;    ///< ordinal
  std::uint64_t index;     ///< within the stream, from 1
  OpKind kind;
  Engine engine;
  Context* context;
  Nanoseconds submitted;
  OpRun run;
  std::vector<std::shared_ptr<Op>> after;  ///< must run and end first; cleared when placed
  State state = State::queued;
  Cost cost;
  Nanoseconds start = 0, end = 0;  ///< valid when placed

  bool has_run() const noexcept { return state == State::done || state == State::placed; }
};
using OpRef = std::shared_ptr<Op>;

struct Stream {
  std::uint32_t ordinal;  ///< 0 is the first context's legacy stream
  Context* context;
  bool legacy = false;
  bool per_thread = false;
  bool non_blocking = false;  ///< has no order with the legacy stream
  int priority = 0;
  bool destroyed = false;  ///< its handle is gone, its work runs on
  std::uint64_t ops = 0;
  OpRef tail = {};
  std::deque<OpRef> in_flight = {};  ///< submitted and perhaps not yet complete, for the queue's depth
  OrderClock before = {};            ///< what every further op of this stream comes after
};
using StreamRef = std::shared_ptr<Stream>;

struct Event {
  Context* context;
  bool timed = true;
  OpRef op = {};           ///< the newest record; nullptr: never recorded
  OrderClock before = {};  ///< what that record comes after
};

struct Context {
  std::uint32_t ordinal;
  bool primary = false;
  bool active = true;
  unsigned flags = 0;
  CUresult error = CUDA_SUCCESS;  ///< sticky
  StreamRef legacy;
  std::map<std::uint32_t, StreamRef> per_thread;  ///< by thread ordinal
  std::vector<StreamRef> streams;                 ///< all but the legacy one, destroyed ones as long as they have work
};

}  // namespace simgpu
