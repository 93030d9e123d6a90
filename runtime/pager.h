#pragma once

// The parts of the pager for one device, put together once the job has a context. Made in that context by
// Pager::attach, and never destroyed: threads of the job may be inside until the process is gone.

#include <cuda.h>

#include <memory>
#include <tl/expected.hpp>

#include "runtime/device_allocator.h"
#include "runtime/kernel_parameters.h"
#include "runtime/residency_engine.h"
#include "tensorpager/options.h"

namespace tensorpager {

/// What the current context tells before anything of ours exists on the device.
struct DeviceFacts {
  CUcontext context = nullptr;
  CUdevice device = 0;
  std::size_t granularity = 0;
  std::size_t total = 0;
  std::size_t used = 0;  ///< by this context, its modules, and other processes: the driver does not tell them apart
  CUmemoryPool default_pool = nullptr;
  int devices = 1;  ///< that the process sees
};

/// CUDA_ERROR_INVALID_CONTEXT: the thread has none.
tl::expected<DeviceFacts, CUresult> ask_device();

class Pager {
 public:
  static tl::expected<std::unique_ptr<Pager>, CUresult> attach(const DeviceFacts& facts, const Settings& settings);

  const DeviceFacts& facts() const noexcept { return facts_; }
  const Arena& arena() const noexcept { return *state_.arena; }
  bool owns(CUdeviceptr address) const noexcept { return state_.arena->contains(address); }
  std::size_t budget();
  /// False: the thread works on another device, whose memory is the driver's alone.
  bool covers_current_device() const noexcept;

  StreamTable& streams() noexcept { return streams_; }
  DeviceAllocator& allocator() noexcept { return allocator_; }
  ResidencyEngine& engine() noexcept { return engine_; }
  KernelParameters& kernels() noexcept { return kernels_; }

  /// A launch, through the contract.
  CUresult launch(CUfunction function, void** params, void** extra, StreamRef stream, Forward forward);
  /// A launch that a graph will make later: its operands become resident now and stay so.
  CUresult pin_launch(CUfunction function, void** params, void** extra, Forward forward);
  /// Any other op with known addresses.
  CUresult submit(OpKind kind, std::span<const CUdeviceptr> addresses, StreamRef stream, bool keeps_addresses,
                  Forward forward);

  /// Makes room for bytes that the driver will take beside the chunks, and counts them. False: they do not fit.
  bool admit_passed_through(std::size_t bytes);
  void passed_through_freed(std::size_t bytes);
  enum class CodeChange { load, unload };
  /// What a load of code cost, seen as memory gone, joins the fixed cost; what an unload gives back leaves it.
  CUresult measure_code(CodeChange change, Forward forward);

  /// Its context is gone. Chunks and addresses are the process's own, so they are given back one by one. The pager must
  /// not be used any more.
  void give_up_device() noexcept;

  void begin_capture() noexcept { captures_.fetch_add(1, std::memory_order_relaxed); }
  void end_capture() noexcept { captures_.fetch_sub(1, std::memory_order_relaxed); }
  /// Driver calls only while any capture is under way: a stream may join one through an event.
  bool capturing(StreamId stream);

 private:
  Pager(const DeviceFacts& facts, const Settings& settings, std::unique_ptr<Arena> arena);
  CUresult open(const Settings& settings);
  bool scan(const Kernel& kernel, void** params, void** extra, Words& out);
  CUresult run(Op op, StreamRef stream, Forward forward);
  /// Device memory that is in use, and what of it is chunks and passed-through allocations.
  struct Occupied {
    std::ptrdiff_t used;
    std::ptrdiff_t counted;
  };
  tl::expected<Occupied, CUresult> ask_occupied();
  void code_changed(std::ptrdiff_t bytes);

  const DeviceFacts facts_;
  StreamTable streams_;
  PagerState state_;
  const ChunkDriver chunks_;
  ResidencyEngine engine_;
  DeviceAllocator allocator_;
  KernelParameters kernels_;
  std::atomic<int> captures_{0};
};

}  // namespace tensorpager
