#include "runtime/residency_engine.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/driver.h"
#include "runtime/log.h"
#include "runtime/statistics.h"

namespace tensorpager {
namespace {

// Not a driver's code: the claim has to be made anew.
constexpr CUresult kAgain = CUDA_ERROR_NOT_READY;

}  // namespace

const char* op_name(OpKind kind) noexcept {
  switch (kind) {
    case OpKind::launch:
      return "launch";
    case OpKind::copy:
      return "copy";
    case OpKind::memset:
      return "memset";
    case OpKind::alloc:
      return "alloc";
    case OpKind::free:
      return "free";
    case OpKind::wait:
      return "wait";
    case OpKind::graph_launch:
      return "graph launch";
  }
  return "op";
}

// A place in the line of ops that miss something.
class ResidencyEngine::Turn {
 public:
  Turn(PagerState& state, std::unique_lock<std::mutex>& lock)
      : state_(state), lock_(lock), place_(state.line.insert(state.line.end(), 0)) {}
  ~Turn() {
    if (!lock_.owns_lock()) lock_.lock();  // an exception came from where the lock was given up
    state_.line.erase(place_);
    state_.changed.notify_all();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  bool mine() const noexcept { return place_ == state_.line.begin(); }
  bool first_attempt() noexcept { return std::exchange(first_attempt_, false); }

 private:
  PagerState& state_;
  std::unique_lock<std::mutex>& lock_;
  std::list<int>::iterator place_;
  bool first_attempt_ = true;
};

ResidencyEngine::Tensors ResidencyEngine::find_operands(const Op& op) {
  Tensors found;
  if (op.all_tensors) {
    for (Tensor& tensor : state_.tensors) found.push_back(&tensor);
    return found;
  }
  for (const CUdeviceptr address : op.operands) {
    Tensor* const tensor = state_.arena->tensor_at(address);
    if (tensor != nullptr && std::ranges::find(found, tensor) == found.end()) found.push_back(tensor);
  }
  return found;
}

bool ResidencyEngine::all_resident(const Tensors& operands) {
  return std::ranges::all_of(operands, [](const Tensor* t) { return t->missing == 0 && t->transit == 0; });
}

void ResidencyEngine::pin(const Op& op, const Tensors& operands) {
  for (Tensor* tensor : operands) {
    ++tensor->pins;
    if (!op.keeps_addresses || tensor->fixed) continue;
    tensor->fixed = true;
    state_.fixed_granules += tensor->granules;
  }
}

CUresult ResidencyEngine::refuse(const Op& op, std::size_t granules) {
  statistics().refused_ops.add();
  const double mebi = 1 << 20;
  const double grain = static_cast<double>(state_.arena->granularity());
  TENSORPAGER_LOG(error, "budget",
                  "a {}{}{} (op {} of its stream) needs {:.1f} MiB at once; the budget of {:.1f} MiB leaves {:.1f} MiB "
                  "for tensors, "
                  "{:.1f} MiB of them pinned. It gets CUDA_ERROR_OUT_OF_MEMORY. Raise budget",
                  op_name(op.kind), *op.name ? " of " : "", op.name, op.index,
                  static_cast<double>(granules) * grain / mebi, static_cast<double>(state_.budget.limit) / mebi,
                  static_cast<double>(state_.chunk_capacity()) * grain / mebi,
                  static_cast<double>(state_.fixed_granules) * grain / mebi);
  return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult ResidencyEngine::time_out(const Op& op) {
  statistics().refused_ops.add();
  TENSORPAGER_LOG(
      error, "budget",
      "a {}{}{} (op {} of its stream) waited {} ms for other threads' tensors. It gets CUDA_ERROR_OUT_OF_MEMORY. "
      "Raise budget, or victim_wait",
      op_name(op.kind), *op.name ? " of " : "", op.name, op.index, victim_wait_.count());
  return CUDA_ERROR_OUT_OF_MEMORY;
}

// Some host memory comes back when the copies that use it are done.
CUresult ResidencyEngine::wait_for_host_memory(Lock& lock) {
  if (state_.retiring.empty()) {
    TENSORPAGER_LOG(error, "budget",
                    "the host has no room for what would be evicted: {} of {} MiB are taken. Raise host_budget",
                    state_.host_bytes >> 20, state_.host->usable() >> 20);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  const Points busy = state_.retiring.front().busy;
  lock.unlock();
  const CUresult result = streams_.wait_host(busy);
  lock.lock();
  return result == CUDA_SUCCESS ? kAgain : result;
}

CUresult ResidencyEngine::claim_and_move(const Tensors& operands, Lock& lock) {
  Tensors missing;
  std::ranges::copy_if(operands, std::back_inserter(missing), [](const Tensor* t) { return t->missing > 0; });
  Claim claim;
  switch (claim_for(state_, streams_, {missing.data(), missing.size()}, {operands.data(), operands.size()}, claim)) {
    case ClaimResult::wait:
      return kAgain;
    case ClaimResult::host_full:
      return wait_for_host_memory(lock);
    case ClaimResult::made:
      break;
  }
  lock.unlock();
  const CUresult result = transfers_.carry_out(claim);
  lock.lock();
  if (claim.device_full) {
    // The device is fuller than the budget knows. What exists is what there is.
    state_.most_chunks = state_.chunks.count();
    TENSORPAGER_LOG(warn, "budget",
                    "the device has no more memory at {} of {} MiB for tensors: others use it. Going on with that",
                    state_.most_chunks * state_.arena->granularity() >> 20, state_.budget.for_chunks() >> 20);
    return kAgain;
  }
  return result;
}

// One attempt, under the lock: kAgain when others must act first, or when more is to be claimed.
CUresult ResidencyEngine::try_page_in(const Op& op, const Tensors& operands, Turn& turn, Lock& lock) {
  const std::size_t needed = std::transform_reduce(operands.begin(), operands.end(), std::size_t{0}, std::plus<>{},
                                                   [](const Tensor* t) { return t->fixed ? 0 : t->granules; });
  // Only the first in line claims, so nobody else has anything in transit.
  if (!turn.mine()) return kAgain;
  if (needed + state_.fixed_granules > state_.chunk_capacity()) {
    // The device was full once and may have room again: worth one more attempt before the job is told.
    if (!turn.first_attempt() || state_.most_chunks == kNoLimit) return refuse(op, needed);
    state_.most_chunks = kNoLimit;
    return kAgain;
  }
  return claim_and_move(operands, lock);
}

CUresult ResidencyEngine::page_in(const Op& op, Tensors& operands) {
  const OwnCalls own(context_);  // outlives the lock: it calls the driver when it ends
  Lock lock(state_.mutex);
  Turn turn(state_, lock);
  const auto deadline = std::chrono::steady_clock::now() + victim_wait_;
  for (;;) {
    // Each time anew: while the lock was given up, another thread may have freed what one of the words points to.
    operands = find_operands(op);
    if (all_resident(operands)) return pin(op, operands), CUDA_SUCCESS;
    const CUresult result = try_page_in(op, operands, turn, lock);
    if (result != CUDA_SUCCESS && result != kAgain) return operands.clear(), result;
    if (result == CUDA_SUCCESS) continue;
    if (std::chrono::steady_clock::now() >= deadline) return operands.clear(), time_out(op);
    state_.changed.wait_for(lock, std::chrono::milliseconds(1));
  }
}

CUresult ResidencyEngine::order(const Op& op, const Tensors& operands) {
  for (const Tensor* tensor : operands) {
    if (tensor->ready.empty()) continue;
    const CUresult result = op.capturing ? wait_before_capture(*tensor) : streams_.order(op.stream, tensor->ready);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

// A wait of the host would end the capture, were it not a call of our own.
CUresult ResidencyEngine::wait_before_capture(const Tensor& tensor) {
  const OwnCalls own(context_);
  const CUresult result = streams_.wait_host(tensor.ready);
  return result == CUDA_ERROR_NOT_READY ? CUDA_ERROR_OUT_OF_MEMORY : result;
}

CUresult ResidencyEngine::acquire(const Op& op, Tensors& operands) {
  {
    const Lock lock(state_.mutex);
    operands = find_operands(op);
    if (all_resident(operands)) return pin(op, operands), CUDA_SUCCESS;
  }
  return page_in(op, operands);
}

void ResidencyEngine::release(const Op& op, const Tensors& operands) {
  const Point used = op.capturing ? Point{} : streams_.publish(op.stream);
  const std::lock_guard lock(state_.mutex);
  for (Tensor* tensor : operands) {
    tensor->touched = true;
    merge(tensor->last_use, used);
    if (--tensor->pins == 0 && tensor->dead) {
      delete tensor;
      continue;
    }
    if (!tensor->dead) state_.tensors.splice(state_.tensors.end(), state_.tensors, TensorList::s_iterator_to(*tensor));
  }
  if (!state_.line.empty()) state_.changed.notify_all();
}

CUresult ResidencyEngine::run(const Op& op, Forward forward) {
  Tensors operands;
  CUresult result = acquire(op, operands);
  if (result != CUDA_SUCCESS) return result;
  try {
    result = order(op, operands);
    if (result == CUDA_SUCCESS) result = forward();
  } catch (const std::bad_alloc&) {
    result = CUDA_ERROR_OUT_OF_MEMORY;  // the pins must go all the same
  }
  release(op, operands);
  return result;
}

bool ResidencyEngine::admit_beside_chunks(std::size_t bytes) {
  const OwnCalls own(context_);
  Lock lock(state_.mutex);
  const Turn turn(state_, lock);
  const auto deadline = std::chrono::steady_clock::now() + victim_wait_;
  for (;;) {
    Budget with_it = state_.budget;
    with_it.pass_through(bytes);
    if (with_it.fixed() + with_it.passed_through() > with_it.limit) return false;
    const std::size_t allowed = with_it.for_chunks() / state_.arena->granularity();
    if (state_.chunks.count() <= allowed) return state_.budget = with_it, state_.note_levels(), true;
    if (state_.fixed_granules > allowed) return false;
    if (turn.mine()) {
      Claim claim;
      const ClaimResult made = claim_release(state_, streams_, state_.chunks.count() - allowed, claim);
      if (made == ClaimResult::host_full && wait_for_host_memory(lock) != kAgain) return false;
      if (made == ClaimResult::made) {
        lock.unlock();
        const CUresult result = transfers_.carry_out(claim);
        lock.lock();
        if (result != CUDA_SUCCESS) return false;
        continue;
      }
    }
    if (std::chrono::steady_clock::now() >= deadline) return false;
    state_.changed.wait_for(lock, std::chrono::milliseconds(1));
  }
}

}  // namespace tensorpager
