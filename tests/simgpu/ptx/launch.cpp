#include "tests/simgpu/ptx/launch.h"

#include <fmt/format.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "tests/simgpu/ptx/block_scheduler.h"
#include "tests/simgpu/ptx/fault_trap.h"

namespace simgpu::ptx {
namespace {

// Waking a worker costs some microseconds: not for less work than this many threads.
constexpr std::uint64_t kThreadsWorthAWorker = 2048;

struct Share {
  BlockScheduler* scheduler = nullptr;
  std::atomic<std::uint64_t>* next = nullptr;
  std::uint64_t blocks = 0;
  std::uint64_t chunk = 1;
};

void run_share(void* argument) {
  const Share& share = *static_cast<const Share*>(argument);
  for (;;) {
    const std::uint64_t first = share.next->fetch_add(share.chunk, std::memory_order_relaxed);
    if (first >= share.blocks) return;
    const std::uint64_t end = std::min(first + share.chunk, share.blocks);
    for (std::uint64_t block = first; block < end; ++block) share.scheduler->run(block);
  }
}

/// A thread that runs one task after the other, with a scheduler of its own.
class Worker {
 public:
  Worker() : thread_([this] { loop(); }) { thread_.detach(); }

  void start(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    task_ = std::move(task);
    changed_.notify_all();
  }

  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return task_ == nullptr; });
  }

  BlockScheduler scheduler;

 private:
  void loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return task_ != nullptr; });
      lock.unlock();
      task_();
      lock.lock();
      task_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> task_;
  std::thread thread_;
};

struct Executor {
  std::mutex mutex;
  BlockScheduler scheduler;
  std::vector<std::unique_ptr<Worker>> workers;
};

// Never destroyed: its threads run to the end of the process.
Executor& executor() {
  static Executor& instance = *new Executor;
  return instance;
}

LaunchFault describe(const KernelCode& code, const LaunchShape& shape, const BlockScheduler& scheduler,
                     const CaughtFault& caught) {
  const std::uint64_t block = scheduler.current_block();
  const auto where = fmt::format("kernel {}, block ({}, {}, {})", code.info->name, block % shape.grid[0],
                                 block / shape.grid[0] % shape.grid[1], block / shape.grid[0] / shape.grid[1]);
  LaunchFault fault{caught.kind, 0, {}};
  if (caught.kind == LaunchFault::Kind::timeout) {
    fault.detail =
        fmt::format("{}: not done after {} ms, or its threads wait for each other", where, code.time_limit.count());
  } else if (caught.kind == LaunchFault::Kind::trap) {
    fault.detail = fmt::format("{}: trap", where);
  } else if (scheduler.in_shared_window(caught.host_address)) {
    fault.detail = fmt::format("{}: shared memory at offset {}, it has {} bytes", where,
                               scheduler.shared_offset(caught.host_address),
                               code.info->static_shared_bytes + shape.dynamic_shared_bytes);
  } else if (scheduler.in_local_window(caught.host_address)) {
    fault.detail = fmt::format("{}: outside local memory", where);
  } else if (caught.host_address == 0) {
    fault.detail = fmt::format("{}: an address outside any window", where);
  } else {
    fault.address = caught.host_address - kAliasOffset;
    fault.detail = fmt::format("{}: illegal address {:#x}", where, fault.address);
  }
  return fault;
}

class LaunchRun {
 public:
  LaunchRun(const KernelCode& code, const LaunchShape& shape, std::span<const std::byte> parameters)
      : code_(code),
        shape_(shape),
        parameters_(parameters),
        blocks_(std::uint64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2]) {}

  tl::expected<LaunchCost, LaunchFault> run() {
    Executor& all = executor();
    const std::lock_guard lock(all.mutex);
    const unsigned helpers = helper_count();
    while (all.workers.size() < helpers) all.workers.push_back(std::make_unique<Worker>());
    outcomes_.resize(helpers + 1);
    chunk_ = std::max<std::uint64_t>(1, blocks_ / (8 * (helpers + 1)));
    for (unsigned i = 0; i < helpers; ++i)
      all.workers[i]->start(
          [this, i, &scheduler = all.workers[i]->scheduler] { take_part(scheduler, outcomes_[i + 1]); });
    take_part(all.scheduler, outcomes_[0]);
    for (unsigned i = 0; i < helpers; ++i) all.workers[i]->wait();
    return result();
  }

 private:
  struct Outcome {
    LaunchCost cost;
    std::optional<LaunchFault> fault;
    std::uint64_t block = 0;
  };

  unsigned helper_count() const {
    const std::uint64_t threads = blocks_ * shape_.block[0] * shape_.block[1] * shape_.block[2];
    if (code_.ordered || code_.workers < 2 || blocks_ < 2 || threads < kThreadsWorthAWorker) return 0;
    return code_.workers - 1;
  }

  void take_part(BlockScheduler& scheduler, Outcome& outcome) {
    const BlockScheduler::Launch launch{code_.entry,
                                        &shape_,
                                        parameters_.data(),
                                        code_.globals,
                                        code_.dynamic_shared_offset + shape_.dynamic_shared_bytes,
                                        code_.info->local_bytes};
    if (!scheduler.begin(launch)) {
      outcome.fault = LaunchFault{LaunchFault::Kind::illegal_address, 0,
                                  fmt::format("kernel {}: no room for its shared and local memory", code_.info->name)};
      return;
    }
    Share share{&scheduler, &next_, blocks_, chunk_};
    const auto caught = guard(run_share, &share, code_.time_limit);
    outcome.cost = {scheduler.work(), scheduler.bytes()};
    outcome.block = scheduler.current_block();
    if (!caught) return;
    outcome.fault = describe(code_, shape_, scheduler, *caught);
    next_.store(blocks_, std::memory_order_relaxed);
  }

  /// Of several faults the one of the first block.
  tl::expected<LaunchCost, LaunchFault> result() const {
    LaunchCost total;
    const Outcome* first = nullptr;
    for (const Outcome& outcome : outcomes_) {
      total.work += outcome.cost.work;
      total.bytes += outcome.cost.bytes;
      if (outcome.fault && (first == nullptr || outcome.block < first->block)) first = &outcome;
    }
    if (first != nullptr) return tl::unexpected(*first->fault);
    return total;
  }

  const KernelCode& code_;
  const LaunchShape& shape_;
  std::span<const std::byte> parameters_;
  std::uint64_t blocks_;
  std::uint64_t chunk_ = 1;
  std::atomic<std::uint64_t> next_{0};
  std::vector<Outcome> outcomes_;
};

}  // namespace

tl::expected<LaunchCost, LaunchFault> run_launch(const KernelCode& code, const LaunchShape& shape,
                                                 std::span<const std::byte> parameters) {
  // Generated code holds an index in a row of threads as a signed 32-bit number.
  if (std::uint64_t{shape.grid[0]} * shape.block[0] > 0x7fffffff)
    return tl::unexpected(LaunchFault{
        LaunchFault::Kind::timeout, 0,
        fmt::format("kernel {}: the simulated device runs no more than 2^31 threads in a row", code.info->name)});
  return LaunchRun(code, shape, parameters).run();
}

}  // namespace simgpu::ptx
