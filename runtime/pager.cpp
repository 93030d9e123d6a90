#include "runtime/pager.h"

#include <algorithm>
#include <tuple>

#include "runtime/driver.h"
#include "runtime/log.h"
#include "runtime/statistics.h"

namespace tensorpager {
namespace {

// Addresses are cheap, and a job whose sizes never repeat needs many; the arena cuts this to what its tables bear.
constexpr std::size_t kArenaPerDeviceByte = 16;

std::chrono::milliseconds victim_wait(const Settings& settings) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(settings.victim_wait);
}

std::size_t budget_limit(const DeviceFacts& facts, const Settings& settings) {
  if (!settings.budget) return facts.total;
  const std::size_t limit = settings.budget->of(facts.total);
  if (limit <= facts.total) return limit;
  TENSORPAGER_LOG(warn, "budget", "budget {:.1f} GiB exceeds the GPU's {:.1f} GiB. Going on with those",
                  static_cast<double>(limit) / (1 << 30), static_cast<double>(facts.total) / (1 << 30));
  return facts.total;
}

std::size_t host_capacity(const Settings& settings) {
  const std::size_t half = default_host_capacity();
  return settings.host_budget ? settings.host_budget->of(half * 2) : half;
}

std::size_t min_block(const DeviceFacts& facts, const Settings& settings) {
  return settings.min_block > 0 ? settings.min_block : facts.granularity;
}

}  // namespace

tl::expected<DeviceFacts, CUresult> ask_device() {
  DeviceFacts facts;
  if (driver().cuCtxGetCurrent(&facts.context) != CUDA_SUCCESS || facts.context == nullptr) {
    return tl::unexpected(CUDA_ERROR_INVALID_CONTEXT);
  }
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  std::size_t free = 0;
  CUresult result = driver().cuCtxGetDevice(&facts.device);
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = facts.device;
  if (result == CUDA_SUCCESS) {
    result = driver().cuMemGetAllocationGranularity(&facts.granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  }
  if (result == CUDA_SUCCESS) result = driver().cuMemGetInfo_v2(&free, &facts.total);
  if (result == CUDA_SUCCESS) result = driver().cuDeviceGetDefaultMemPool(&facts.default_pool, facts.device);
  if (result == CUDA_SUCCESS) result = driver().cuDeviceGetCount(&facts.devices);
  if (result != CUDA_SUCCESS) return tl::unexpected(result);
  facts.used = facts.total - free;
  return facts;
}

Pager::Pager(const DeviceFacts& facts, const Settings& settings, std::unique_ptr<Arena> arena)
    : facts_(facts),
      streams_(victim_wait(settings)),
      state_{},
      chunks_(facts.device, *arena),
      engine_(state_, streams_, chunks_, facts.context, victim_wait(settings)),
      allocator_(state_, streams_, min_block(facts, settings)) {
  state_.arena = std::move(arena);
  state_.budget = {.limit = budget_limit(facts, settings),
                   .measured_fixed = facts.used,
                   .reserve = settings.driver_reserve,
                   .granularity = facts.granularity};
}

CUresult Pager::open(const Settings& settings) {
  state_.host = HostPool::create(host_capacity(settings));
  if (!state_.host) return CUDA_ERROR_OUT_OF_MEMORY;
  statistics().budget.set(state_.budget.limit);
  statistics().granularity.set(facts_.granularity);
  state_.note_levels();
  return engine_.open();
}

tl::expected<std::unique_ptr<Pager>, CUresult> Pager::attach(const DeviceFacts& facts, const Settings& settings) {
  auto arena = Arena::reserve(facts.total * kArenaPerDeviceByte, facts.granularity);
  if (!arena) return tl::unexpected(arena.error());
  std::unique_ptr<Pager> pager(new Pager(facts, settings, std::move(*arena)));
  if (const CUresult result = pager->open(settings); result != CUDA_SUCCESS) return tl::unexpected(result);
  TENSORPAGER_LOG(
      info, "budget", "{:.1f} MiB, of which {:.1f} MiB are fixed cost (context and code {:.1f}, reserve {:.1f})",
      static_cast<double>(pager->state_.budget.limit) / (1 << 20),
      static_cast<double>(pager->state_.budget.fixed()) / (1 << 20), static_cast<double>(facts.used) / (1 << 20),
      static_cast<double>(settings.driver_reserve) / (1 << 20));
  if (pager->state_.chunk_capacity() == 0) {
    TENSORPAGER_LOG(warn, "budget",
                    "{:.1f} MiB leave no room for tensors: context and code take {:.1f}, driver_reserve {:.1f}. "
                    "Every launch will be out of memory. Raise budget",
                    static_cast<double>(pager->state_.budget.limit) / (1 << 20),
                    static_cast<double>(facts.used) / (1 << 20),
                    static_cast<double>(settings.driver_reserve) / (1 << 20));
  }
  return pager;
}

std::size_t Pager::budget() {
  const std::lock_guard lock(state_.mutex);
  return state_.budget.limit;
}

bool Pager::covers_current_device() const noexcept {
  if (facts_.devices == 1) return true;
  CUdevice current = facts_.device;
  if (driver().cuCtxGetDevice(&current) != CUDA_SUCCESS || current == facts_.device) return true;
  TENSORPAGER_LOG(warn, "device", "device {} is not managed: the budget is for device {}, the first that was used",
                  current, facts_.device);
  return false;
}

bool Pager::capturing(StreamId stream) {
  if (captures_.load(std::memory_order_relaxed) == 0) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return driver().cuStreamIsCapturing(streams_.handle(stream), &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

CUresult Pager::run(Op op, StreamRef stream, Forward forward) {
  if (streams_.check(stream) != CUDA_SUCCESS) return forward();  // which is refused
  std::tie(op.stream, op.index) = streams_.find_for_op(stream);
  op.capturing = capturing(op.stream);
  op.keeps_addresses = op.keeps_addresses || op.capturing;
  return engine_.run(op, forward);
}

bool Pager::scan(const Kernel& kernel, void** params, void** extra, Words& out) {
  if (KernelParameters::scan(kernel, params, extra, *state_.arena, out)) return true;
  TENSORPAGER_LOG(warn, "operands",
                  "the driver does not tell the parameters of {}; every tensor is kept resident for it", kernel.name);
  return false;
}

CUresult Pager::pin_launch(CUfunction function, void** params, void** extra, Forward forward) {
  if (function == nullptr) return forward();
  Words words;
  const auto kernel = kernels_.find(function).kernel;
  const bool scanned = scan(*kernel, params, extra, words);
  return engine_.run({.kind = OpKind::graph_launch,
                      .stream = 0,
                      .index = 0,
                      .operands = {words.data(), words.size()},
                      .name = kernel->name.c_str(),
                      .all_tensors = !scanned,
                      .keeps_addresses = true,
                      .capturing = true},
                     forward);
}

CUresult Pager::launch(CUfunction function, void** params, void** extra, StreamRef stream, Forward forward) {
  if (function == nullptr) return forward();  // the driver's own answer
  Words words;
  const auto [kernel, unseen] = kernels_.find(function);
  const bool first = unseen && covers_current_device();
  const bool scanned = scan(*kernel, params, extra, words);
  const Op op{.kind = OpKind::launch,
              .stream = 0,
              .index = 0,
              .operands = {words.data(), words.size()},
              .name = kernel->name.c_str(),
              .all_tensors = !scanned};
  // With lazy loading a kernel's code comes to the device at its first launch.
  const auto measured = [&] { return measure_code(CodeChange::load, forward); };
  return first ? run(op, stream, measured) : run(op, stream, forward);
}

CUresult Pager::submit(OpKind kind, std::span<const CUdeviceptr> addresses, StreamRef stream, bool keeps_addresses,
                       Forward forward) {
  const Op op{.kind = kind, .stream = 0, .index = 0, .operands = addresses, .keeps_addresses = keeps_addresses};
  return run(op, stream, forward);
}

void Pager::give_up_device() noexcept {
  std::size_t done = 0;
  for (Chunk& chunk : state_.chunks.records()) {
    if (chunk.mapped != kNoGranule) chunks_.unmap_run({&chunk.mapped, 1}, done);
    if (chunk.handle != 0) chunks_.release(chunk);
  }
  driver().cuMemAddressFree(state_.arena->base(), state_.arena->bytes());
}

bool Pager::admit_passed_through(std::size_t bytes) {
  if (engine_.admit_beside_chunks(bytes)) return true;
  statistics().refused_allocs.add();
  TENSORPAGER_LOG(warn, "budget", "out of memory: {} MiB outside the pager do not fit the budget. Raise budget",
                  bytes >> 20);
  return false;
}

void Pager::passed_through_freed(std::size_t bytes) {
  const std::lock_guard lock(state_.mutex);
  state_.budget.passed_through_freed(bytes);
}

tl::expected<Pager::Occupied, CUresult> Pager::ask_occupied() {
  std::size_t free = 0;
  std::size_t total = 0;
  const CUresult result = driver().cuMemGetInfo_v2(&free, &total);
  if (result != CUDA_SUCCESS) return tl::unexpected(result);
  const std::lock_guard lock(state_.mutex);
  return Occupied{
      static_cast<std::ptrdiff_t>(total - free),
      static_cast<std::ptrdiff_t>(state_.chunks.count() * facts_.granularity + state_.budget.passed_through())};
}

void Pager::code_changed(std::ptrdiff_t bytes) {
  const std::lock_guard lock(state_.mutex);
  const auto fixed = static_cast<std::ptrdiff_t>(state_.budget.measured_fixed) + bytes;
  state_.budget.measured_fixed = std::max(facts_.used, static_cast<std::size_t>(std::max<std::ptrdiff_t>(fixed, 0)));
  state_.note_levels();
}

CUresult Pager::measure_code(CodeChange change, Forward forward) {
  const auto before = ask_occupied();
  const CUresult result = forward();
  const auto after = ask_occupied();
  if (!before || !after) return result;
  // What other threads gave back meanwhile is no code. What they took may be counted before it exists, so it is taken
  // for code: the budget errs on the safe side.
  const std::ptrdiff_t given_back = std::max<std::ptrdiff_t>(before->counted - after->counted, 0);
  const std::ptrdiff_t code = after->used - before->used + given_back;
  if (change == CodeChange::load ? code <= 0 : code >= 0) return result;
  code_changed(code);
  if (!engine_.admit_beside_chunks(0)) {
    TENSORPAGER_LOG(warn, "budget", "code took {} KiB and nothing could be given back for it: the budget is exceeded",
                    code >> 10);
  }
  return result;
}

}  // namespace tensorpager
