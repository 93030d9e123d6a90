#include "runtime/stream_table.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "runtime/driver.h"

namespace tensorpager {
namespace {

// Per-thread streams of different threads share one handle; a number of ours tells the threads apart.
std::uint64_t thread_number() noexcept {
  static std::atomic<std::uint64_t> next{1};
  thread_local const std::uint64_t number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

// Never a real handle: the driver's handles are pointers to aligned objects.
CUstream per_thread_key() noexcept {
  return reinterpret_cast<CUstream>((thread_number() << 2) | 3);
}

bool is_per_thread(StreamRef stream) noexcept {
  return stream.handle == CU_STREAM_PER_THREAD || (stream.handle == nullptr && stream.null_is_per_thread);
}

constexpr std::size_t kRecordedPerStream = 16;
constexpr auto kPollInterval = std::chrono::microseconds(200);

}  // namespace

void merge(Points& points, Point point) {
  if (point.sequence == 0) return;
  const auto same = std::ranges::find(points, point.stream, &Point::stream);
  if (same == points.end()) {
    points.push_back(point);
  } else {
    same->sequence = std::max(same->sequence, point.sequence);
  }
}

void merge(Points& points, const Points& more) {
  for (const Point point : more) merge(points, point);
}

// Events go back here when the last waiter has let go of them: an event must not be recorded anew while a thread is
// about to make a stream wait for it. They are never destroyed: at exit the driver may be gone.
struct StreamTable::EventPool {
  std::mutex mutex;
  std::vector<CUevent> idle;
};

std::shared_ptr<StreamTable::EventPool> StreamTable::make_pool() {
  return std::make_shared<EventPool>();
}

StreamTable::Event StreamTable::take_event(CUresult& result) {
  CUevent event = nullptr;
  result = CUDA_SUCCESS;
  {
    const std::lock_guard lock(pool_->mutex);
    if (!pool_->idle.empty()) {
      event = pool_->idle.back();
      pool_->idle.pop_back();
    }
  }
  if (event == nullptr) result = driver().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
  if (result != CUDA_SUCCESS) return nullptr;
  return Event(event, [pool = pool_](CUevent returned) {
    const std::lock_guard lock(pool->mutex);
    pool->idle.push_back(returned);
  });
}

StreamId StreamTable::add(CUstream handle, bool per_thread) {
  StreamId id = 0;
  if (!vacant_.empty()) {
    // Counts go on, so that old points of the former stream stay complete.
    id = vacant_.back();
    vacant_.pop_back();
  } else {
    id = static_cast<StreamId>(streams_.size());
    streams_.emplace_back();
  }
  Stream& stream = at(id);
  stream.handle = handle;
  stream.per_thread = per_thread;
  stream.retired = false;
  stream.waited_for.clear();
  return id;
}

StreamId StreamTable::find_locked(StreamRef stream) {
  const bool per_thread = is_per_thread(stream);
  const CUstream legacy = stream.handle == CU_STREAM_LEGACY ? nullptr : stream.handle;
  const CUstream key = per_thread ? per_thread_key() : legacy;
  const auto [entry, added] = by_handle_.try_emplace(key, 0);
  // The explicit handles mean the same stream from every entry point.
  if (added)
    entry->second =
        add(per_thread ? CU_STREAM_PER_THREAD : (legacy == nullptr ? CU_STREAM_LEGACY : legacy), per_thread);
  return entry->second;
}

CUresult StreamTable::check(StreamRef stream) {
  if (stream.handle == nullptr || stream.handle == CU_STREAM_LEGACY || is_per_thread(stream)) return CUDA_SUCCESS;
  {
    const std::lock_guard lock(mutex_);
    if (by_handle_.contains(stream.handle)) return CUDA_SUCCESS;
  }
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return driver().cuStreamIsCapturing(stream.handle, &status);
}

CUstream StreamTable::handle(StreamId stream) {
  const std::lock_guard lock(mutex_);
  return at(stream).handle;
}

StreamId StreamTable::find(StreamRef stream) {
  const std::lock_guard lock(mutex_);
  return find_locked(stream);
}

std::pair<StreamId, std::uint64_t> StreamTable::find_for_op(StreamRef stream) {
  const std::lock_guard lock(mutex_);
  const StreamId id = find_locked(stream);
  return {id, at(id).indices++};
}

Point StreamTable::publish(StreamId stream) {
  Point point{stream, 0};
  bool per_thread = false;
  {
    const std::lock_guard lock(mutex_);
    point.sequence = ++at(stream).submitted;
    per_thread = at(stream).per_thread;
  }
  Recorded recorded{};
  if (per_thread) record(stream, recorded);
  return point;
}

bool StreamTable::complete(Point point) {
  const std::lock_guard lock(mutex_);
  return at(point.stream).completed >= point.sequence;
}

void StreamTable::prune(Points& points) {
  const std::lock_guard lock(mutex_);
  const auto done = [this](Point point) { return at(point.stream).completed >= point.sequence; };
  points.erase(std::remove_if(points.begin(), points.end(), done), points.end());
}

void StreamTable::note_host_function(StreamId stream) {
  note_host_wait();
  const std::lock_guard lock(mutex_);
  at(stream).host_function = at(stream).submitted + 1;
}

void StreamTable::watch_host_function(StreamId stream) {
  Recorded recorded{};
  record(stream, recorded);  // should it fail, its tensors are only evicted later than others
}

bool StreamTable::may_wait_for_host(const Points& points) {
  if (!host_waits_.load(std::memory_order_relaxed)) return false;
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(points, [this](Point point) {
    const Stream& stream = at(point.stream);
    return stream.completed < point.sequence && stream.completed < stream.host_function;
  });
}

CUresult StreamTable::record(StreamId stream, Recorded& out) {
  CUstream handle = nullptr;
  {
    const std::lock_guard lock(mutex_);
    out.sequence = at(stream).submitted;  // read first: what is submitted until the record is covered as well
    handle = at(stream).handle;
  }
  CUresult result = CUDA_SUCCESS;
  out.event = take_event(result);
  if (result == CUDA_SUCCESS) result = driver().cuEventRecord(out.event.get(), handle);
  if (result != CUDA_SUCCESS) return result;
  const std::lock_guard lock(mutex_);
  auto& recorded = at(stream).recorded;
  const auto place = std::ranges::upper_bound(recorded, out.sequence, {}, &Recorded::sequence);
  recorded.insert(place, out);
  if (recorded.size() > kRecordedPerStream) recorded.pop_front();  // a later one serves in its place
  return CUDA_SUCCESS;
}

CUresult StreamTable::event_at(Point point, Recorded& out) {
  {
    const std::lock_guard lock(mutex_);
    Stream& stream = at(point.stream);
    if (stream.completed >= point.sequence) return CUDA_SUCCESS;
    const auto found = std::ranges::find_if(
        stream.recorded, [&](const Recorded& recorded) { return recorded.sequence >= point.sequence; });
    if (found != stream.recorded.end()) {
      out = *found;
      return CUDA_SUCCESS;
    }
  }
  return record(point.stream, out);
}

CUresult StreamTable::order_one(StreamId waiter, Point point) {
  if (point.stream == waiter) return CUDA_SUCCESS;
  CUstream handle = nullptr;
  {
    const std::lock_guard lock(mutex_);
    Stream& stream = at(waiter);
    const auto waited = stream.waited_for.find(point.stream);
    if (waited != stream.waited_for.end() && waited->second >= point.sequence) return CUDA_SUCCESS;
    handle = stream.handle;
  }
  Recorded recorded{};
  if (const CUresult result = event_at(point, recorded); result != CUDA_SUCCESS || !recorded.event) return result;
  if (const CUresult result = driver().cuStreamWaitEvent(handle, recorded.event.get(), 0); result != CUDA_SUCCESS) {
    return result;
  }
  const std::lock_guard lock(mutex_);
  auto& waited = at(waiter).waited_for[point.stream];
  waited = std::max(waited, recorded.sequence);
  return CUDA_SUCCESS;
}

CUresult StreamTable::order(StreamId waiter, const Points& points) {
  for (const Point point : points) {
    if (const CUresult result = order_one(waiter, point); result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CUresult StreamTable::wait_event_unbounded(CUevent event) {
  return driver().cuEventSynchronize(event);
}

// A legal program's kernels end, so the wait may be unbounded, except behind what waits for the host: that may be the
// thread that waits here.
CUresult StreamTable::wait_event(CUevent event) {
  if (!host_waits_.load(std::memory_order_relaxed)) return wait_event_unbounded(event);
  const auto deadline = std::chrono::steady_clock::now() + victim_wait_;
  for (;;) {
    const CUresult result = driver().cuEventQuery(event);
    if (result != CUDA_ERROR_NOT_READY || std::chrono::steady_clock::now() >= deadline) return result;
    std::this_thread::sleep_for(kPollInterval);
  }
}

void StreamTable::mark_complete(StreamId id, std::uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  Stream& stream = at(id);
  stream.completed = std::max(stream.completed, sequence);
  while (!stream.recorded.empty() && stream.recorded.front().sequence <= stream.completed) stream.recorded.pop_front();
  if (stream.retired && stream.completed >= stream.submitted) {
    stream.retired = false;
    vacant_.push_back(id);
  }
}

CUresult StreamTable::wait_host(const Points& points, CUresult (StreamTable::*wait)(CUevent)) {
  for (const Point point : points) {
    Recorded recorded{};
    if (const CUresult result = event_at(point, recorded); result != CUDA_SUCCESS) return result;
    if (!recorded.event) continue;
    if (const CUresult result = (this->*wait)(recorded.event.get()); result != CUDA_SUCCESS) return result;
    mark_complete(point.stream, recorded.sequence);
  }
  return CUDA_SUCCESS;
}

void StreamTable::poll() {
  std::vector<std::pair<StreamId, Recorded>> oldest;
  {
    const std::lock_guard lock(mutex_);
    for (StreamId id = 0; id < streams_.size(); ++id) {
      if (!at(id).recorded.empty()) oldest.emplace_back(id, at(id).recorded.front());
    }
  }
  for (const auto& [id, recorded] : oldest) {
    if (driver().cuEventQuery(recorded.event.get()) == CUDA_SUCCESS) mark_complete(id, recorded.sequence);
  }
}

CUresult StreamTable::retire(CUstream handle) {
  if (handle == nullptr) return CUDA_SUCCESS;  // the legacy stream, which nobody can destroy
  StreamId id = 0;
  bool idle = true;
  {
    const std::lock_guard lock(mutex_);
    const auto entry = by_handle_.find(handle);
    if (entry == by_handle_.end()) return CUDA_SUCCESS;
    id = entry->second;
    idle = at(id).submitted == at(id).completed;
  }
  Recorded recorded{};
  const CUresult result = idle ? CUDA_SUCCESS : record(id, recorded);
  if (result != CUDA_SUCCESS) return result;
  const std::lock_guard lock(mutex_);
  by_handle_.erase(handle);
  at(id).retired = !idle;
  if (idle) vacant_.push_back(id);
  return CUDA_SUCCESS;
}

CUresult StreamTable::record_all() {
  std::vector<StreamId> open;
  {
    const std::lock_guard lock(mutex_);
    for (StreamId id = 0; id < streams_.size(); ++id) {
      const Stream& stream = at(id);
      const bool covered = !stream.recorded.empty() && stream.recorded.back().sequence >= stream.submitted;
      if (!stream.retired && !stream.per_thread && !covered && stream.completed < stream.submitted) open.push_back(id);
    }
  }
  for (const StreamId id : open) {
    Recorded recorded{};
    if (const CUresult result = record(id, recorded); result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

}  // namespace tensorpager
