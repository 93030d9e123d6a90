#include "tests/simgpu/ptx/block_scheduler.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "tests/simgpu/ptx/fault_trap.h"

namespace simgpu::ptx {
namespace {

using simgpu_device::Thread;
using simgpu_device::Wait;

constexpr std::uint64_t kReservation = 16ULL << 30;
constexpr std::uint64_t kPage = 4096;
constexpr std::uint32_t kWarpLanes = 32;

}  // namespace

GuardedMemory::~GuardedMemory() {
  if (data_ != nullptr) munmap(data_ - kReservation / 2, kReservation);
}

bool GuardedMemory::resize(std::uint64_t bytes) {
  const std::uint64_t size = (bytes + kPage - 1) / kPage * kPage;
  if (size > kReservation / 4) return false;
  if (data_ == nullptr) {
    void* const reserved = mmap(nullptr, kReservation, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) return false;
    data_ = static_cast<std::uint8_t*>(reserved) + kReservation / 2;
  }
  if (size > size_ && mprotect(data_ + size_, size - size_, PROT_READ | PROT_WRITE) != 0) return false;
  if (size < size_ && mprotect(data_ + size, size_ - size, PROT_NONE) != 0) return false;
  size_ = size;
  return true;
}

bool GuardedMemory::reserves(std::uint64_t address) const {
  return data_ != nullptr && address - (reinterpret_cast<std::uint64_t>(data_) - kReservation / 2) < kReservation;
}

bool BlockScheduler::begin(const Launch& launch) {
  launch_ = launch;
  const LaunchShape& shape = *launch.shape;
  threads_ = shape.block[0] * shape.block[1] * shape.block[2];
  const bool steps = launch.entry->step_thread != nullptr;
  if (!shared_.resize(launch.shared_bytes)) return false;
  if (!local_.resize(std::uint64_t{launch.local_bytes} * (steps ? threads_ : 1))) return false;
  stride_ = (launch.entry->thread_bytes + 7) / 8;
  if (steps && states_.size() < stride_ * threads_) states_.resize(stride_ * threads_);
  waits_.resize(steps ? threads_ : 0);
  block_ = {};
  block_.parameters = reinterpret_cast<const std::uint8_t*>(launch.parameters);
  block_.shared = shared_.data();
  block_.local = local_.data();
  block_.globals = launch.globals;
  std::copy(std::begin(shape.block), std::end(shape.block), block_.block_dim);
  std::copy(std::begin(shape.grid), std::end(shape.grid), block_.grid_dim);
  block_.dynamic_shared_bytes = shape.dynamic_shared_bytes;
  block_.shared_bytes = launch.shared_bytes;
  block_.exchange = &exchange_;
  block_.trap = [](simgpu_device::Block*) { raise_fault(LaunchFault::Kind::trap); };
  return true;
}

std::int64_t BlockScheduler::shared_offset(std::uint64_t host_address) const {
  return static_cast<std::int64_t>(host_address - reinterpret_cast<std::uint64_t>(shared_.data()));
}

void BlockScheduler::run(std::uint64_t block) {
  current_block_ = block;
  const auto& grid = launch_.shape->grid;
  block_.block_index[0] = static_cast<std::uint32_t>(block % grid[0]);
  block_.block_index[1] = static_cast<std::uint32_t>(block / grid[0] % grid[1]);
  block_.block_index[2] = static_cast<std::uint32_t>(block / grid[0] / grid[1]);
  if (launch_.entry->run_block != nullptr) return launch_.entry->run_block(&block_);
  reset_threads();
  run_threads();
}

Thread& BlockScheduler::thread(std::uint32_t index) {
  return *reinterpret_cast<Thread*>(states_.data() + index * stride_);
}

void BlockScheduler::reset_threads() {
  const auto& dim = launch_.shape->block;
  for (std::uint32_t i = 0; i < threads_; ++i) {
    Thread& fresh = thread(i);
    fresh = Thread{};
    fresh.x = i % dim[0];
    fresh.y = i / dim[0] % dim[1];
    fresh.z = i / dim[0] / dim[1];
    fresh.linear = i;
  }
  std::fill(waits_.begin(), waits_.end(), Wait::kRunning);
}

void BlockScheduler::run_threads() {
  do {
    for (std::uint32_t first = 0; first < threads_; first += kWarpLanes)
      run_warp(first, std::min(first + kWarpLanes, threads_));
  } while (release_barriers());
}

void BlockScheduler::run_warp(std::uint32_t first, std::uint32_t end) {
  const auto step = launch_.entry->step_thread;
  do {
    for (std::uint32_t i = first; i < end; ++i)
      if (waits_[i] == Wait::kRunning) waits_[i] = step(&block_, &thread(i));
  } while (release_lanes(first, end));
}

/// Whether every lane that the leader names waits at the same yield or has ended.
bool BlockScheduler::lanes_complete(std::uint32_t first, std::uint32_t end, const Thread& leader) {
  for (std::uint32_t i = first; i < end; ++i) {
    const bool named = ((leader.member_mask >> (i - first)) & 1) != 0;
    if (!named || waits_[i] == Wait::kDone) continue;
    if (waits_[i] != Wait::kWarp || thread(i).resume != leader.resume) return false;
  }
  return true;
}

/// All lanes have run as far as they get. Goes on with those that wait for each other; where a warp has diverged, with
/// those of the lowest yield point whose members are all there, else of the lowest one. They get a snapshot of what
/// they deposited.
bool BlockScheduler::release_lanes(std::uint32_t first, std::uint32_t end) {
  const Thread* leader = nullptr;
  bool leader_complete = false;
  for (std::uint32_t i = first; i < end; ++i) {
    if (waits_[i] != Wait::kWarp) continue;
    const Thread& lane = thread(i);
    if (leader != nullptr && lane.resume == leader->resume && lane.member_mask == leader->member_mask) continue;
    const bool complete = lanes_complete(first, end, lane);
    const bool better = leader == nullptr || (complete && !leader_complete) ||
                        (complete == leader_complete && lane.resume < leader->resume);
    if (better) leader = &lane, leader_complete = complete;
  }
  if (leader == nullptr) return false;
  exchange_ = {};
  for (std::uint32_t i = first; i < end; ++i) {
    const Thread& lane = thread(i);
    if (waits_[i] != Wait::kWarp || lane.resume != leader->resume || lane.member_mask != leader->member_mask) continue;
    exchange_.values[i - first] = lane.deposit;
    exchange_.arrived |= 1U << (i - first);
    waits_[i] = Wait::kRunning;
  }
  return true;
}

/// No thread can run. True: some thread can run again; false: all have ended.
bool BlockScheduler::release_barriers() {
  std::uint32_t ended = 0;
  std::uint32_t plain = 0;
  for (const Wait wait : waits_) {
    ended += wait == Wait::kDone ? 1 : 0;
    plain += wait == Wait::kBarrier ? 1 : 0;
  }
  if (ended == threads_) return false;
  if (ended + plain < threads_) return release_named_barriers();
  for (Wait& wait : waits_)
    if (wait == Wait::kBarrier) wait = Wait::kRunning;
  return true;
}

bool BlockScheduler::waits_at(std::uint32_t index, std::uint32_t id) {
  return waits_[index] == Wait::kBarrier ? id == 0
                                         : waits_[index] == Wait::kNamedBarrier && thread(index).barrier == id;
}

void BlockScheduler::release_barrier(std::uint32_t id) {
  std::uint32_t participants = 0;
  std::uint32_t votes = 0;
  for (std::uint32_t i = 0; i < threads_; ++i) {
    if (!waits_at(i, id)) continue;
    ++participants;
    votes += thread(i).deposit != 0 ? 1 : 0;
  }
  for (std::uint32_t i = 0; i < threads_; ++i) {
    if (!waits_at(i, id)) continue;
    thread(i).participants = participants;
    thread(i).votes = votes;
    waits_[i] = Wait::kRunning;
  }
}

/// A barrier opens when as many threads wait as it names; one that names none, when all live threads do.
bool BlockScheduler::release_named_barriers() {
  std::uint32_t waiting[16] = {};
  std::uint32_t wanted[16] = {};
  std::uint32_t alive = 0;
  for (std::uint32_t i = 0; i < threads_; ++i) {
    if (waits_[i] == Wait::kDone) continue;
    const bool named = waits_[i] == Wait::kNamedBarrier;
    ++alive;
    ++waiting[named ? thread(i).barrier : 0];
    if (named) wanted[thread(i).barrier] = thread(i).barrier_count;
  }
  bool released = false;
  for (std::uint32_t id = 0; id < 16; ++id) {
    const std::uint32_t needed = wanted[id] != 0 ? wanted[id] : alive;
    if (waiting[id] == 0 || waiting[id] < needed) continue;
    release_barrier(id);
    released = true;
  }
  // Threads that wait for each other at different barriers would hang on a GPU.
  if (!released) raise_fault(LaunchFault::Kind::timeout);
  return true;
}

}  // namespace simgpu::ptx
