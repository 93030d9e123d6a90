#pragma once

// Streams as the runtime knows them: how far each has come, and how to make one wait for another, or the host for one.
//
// A Point is a place in a stream's order: complete when all that was submitted up to it is. Events are recorded late,
// when somebody has to wait for a point, so a loop in one stream that fits needs none at all.
//
// Threads: all functions from any thread. The table's mutex is a leaf and is never held across a driver call.

#include <cuda.h>

#include <atomic>
#include <boost/container/small_vector.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "runtime/hooks.h"

namespace tensorpager {

using StreamId = std::uint32_t;

struct Point {
  StreamId stream = 0;
  std::uint64_t sequence = 0;  ///< 0: before everything, always complete
};

using Points = boost::container::small_vector<Point, 2>;

/// Adds `point`; a later point of the same stream covers an earlier one.
void merge(Points& points, Point point);
void merge(Points& points, const Points& more);

class StreamTable {
 public:
  explicit StreamTable(std::chrono::milliseconds victim_wait) noexcept : victim_wait_(victim_wait) {}

  /// The stream that the caller means. NULL, legacy and per-thread handles are normalised: a per-thread stream is its
  /// thread's.
  StreamId find(StreamRef stream);
  /// Whether the program may mean it: the driver's answer for a handle that is not known yet. Points on a stream that
  /// does not exist would never be complete, for whoever comes to wait for them.
  CUresult check(StreamRef stream);
  /// A stream of the runtime's own.
  StreamId adopt(CUstream handle) { return find({handle, false}); }

  /// The same for an op: with its index in the stream, counted from 0.
  std::pair<StreamId, std::uint64_t> find_for_op(StreamRef stream);
  /// After a call was forwarded: the point behind it. On a per-thread stream this records an event, since an event on
  /// such a stream can be recorded only by its own thread.
  Point publish(StreamId stream);

  bool complete(Point point);
  /// Drops the points that are known to be complete.
  void prune(Points& points);

  /// Makes the stream wait for the points. No call where order holds already.
  CUresult order(StreamId waiter, const Points& points);
  /// Makes the host wait for the points; CUDA_ERROR_NOT_READY when the bounded wait ran out (see note_host_wait()).
  CUresult wait_host(const Points& points) { return wait_host(points, &StreamTable::wait_event); }
  CUresult wait_host_unbounded(const Points& points) { return wait_host(points, &StreamTable::wait_event_unbounded); }
  /// Asks the device how far the recorded events are.
  void poll();

  /// Before cuStreamDestroy: a destroyed stream runs on, and nothing can be recorded on it any more. On failure the
  /// stream must not be destroyed: nobody could wait for what runs on it.
  CUresult retire(CUstream handle);
  /// Before a capture begins: nothing can be recorded on a capturing stream.
  CUresult record_all();
  /// From now on work may wait for the host: waits for victims are bounded.
  void note_host_wait() noexcept { host_waits_.store(true, std::memory_order_relaxed); }
  /// The same, and the next op of the stream is a function of the host.
  void note_host_function(StreamId stream);
  /// After it was submitted: from here on it is seen when it has run.
  void watch_host_function(StreamId stream);
  /// Whether any of the points may be behind a function of the host that has not run.
  bool may_wait_for_host(const Points& points);

  CUstream handle(StreamId stream);

 private:
  struct EventPool;
  using Event = std::shared_ptr<CUevent_st>;
  struct Recorded {
    std::uint64_t sequence;
    Event event;
  };
  struct Stream {
    CUstream handle = nullptr;
    bool per_thread = false;
    bool retired = false;
    std::uint64_t indices = 0;
    std::uint64_t submitted = 0;
    std::uint64_t completed = 0;
    std::uint64_t host_function = 0;                         // where the last one is
    std::deque<Recorded> recorded;                           // oldest first, none complete
    std::unordered_map<StreamId, std::uint64_t> waited_for;  // what it already waits for
  };

  Event take_event(CUresult& result);
  /// An event at or behind the point; records one where there is none. Null with success: the point is complete.
  CUresult event_at(Point point, Recorded& out);
  CUresult record(StreamId stream, Recorded& out);
  CUresult order_one(StreamId waiter, Point point);
  CUresult wait_host(const Points& points, CUresult (StreamTable::*wait)(CUevent));
  CUresult wait_event(CUevent event);
  CUresult wait_event_unbounded(CUevent event);
  void mark_complete(StreamId stream, std::uint64_t sequence);
  Stream& at(StreamId stream) { return streams_[stream]; }
  StreamId find_locked(StreamRef stream);
  StreamId add(CUstream handle, bool per_thread);

  std::mutex mutex_;
  std::deque<Stream> streams_;
  std::unordered_map<CUstream, StreamId> by_handle_;
  std::vector<StreamId> vacant_;
  std::shared_ptr<EventPool> pool_ = make_pool();
  static std::shared_ptr<EventPool> make_pool();
  std::atomic<bool> host_waits_{false};
  const std::chrono::milliseconds victim_wait_;
};

}  // namespace tensorpager
