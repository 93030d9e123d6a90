#pragma once

// The one way from the interposer into the runtime. A hook in interpose/ tests active(), and if so tells what passed,
// with a callable that makes the real call with the caller's own arguments. Each function returns what the program is
// to see: the driver's code, or CUDA_ERROR_OUT_OF_MEMORY where the budget refuses.
//
// Threads: all functions may be called from any thread, with the caller's context current. None throws, and none holds
// a lock across `forward`. The real call is made at most once.

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "runtime/function_ref.h"

namespace tensorpager {

enum class OpKind : std::uint8_t { launch, copy, memset, alloc, free, wait, graph_launch };

/// A stream as the program named it: what NULL means depends on the entry point (_ptsz and _ptds variants: per thread).
struct StreamRef {
  CUstream handle = nullptr;
  bool null_is_per_thread = false;
};

using Forward = FunctionRef<CUresult()>;

/// False: the process is not managed (disabled, no driver yet, forked child, fallen back) and the hook only forwards.
bool active() noexcept;

/// Finds a function of the real driver by exported name; nullptr when the driver lacks it.
using DriverLookup = void* (*)(const char* exported_name);

/// Once, when the real driver has been opened, before any call is forwarded to it. Reads the settings.
void on_driver_open(DriverLookup find) noexcept;

// Launches: `params` and `extra` as cuLaunchKernel has them; `function` may be a CUkernel.
CUresult on_launch(CUfunction function, void** params, void** extra, StreamRef stream, Forward forward) noexcept;

/// Copies and memsets: every device address that the call reads or writes; host addresses do no harm.
CUresult on_copy(OpKind kind, std::initializer_list<CUdeviceptr> addresses, StreamRef stream, Forward forward) noexcept;

/// The same for calls with lists of addresses (batches).
CUresult on_copy_list(const CUdeviceptr* const* lists, std::size_t list_count, std::size_t count, StreamRef stream,
                      Forward forward) noexcept;

/// Calls through which an address may be kept by hardware or by the driver: its tensor stays resident from then on.
CUresult on_pin(std::initializer_list<CUdeviceptr> addresses, StreamRef stream, Forward forward) noexcept;
CUresult on_pin_list(const CUdeviceptr* addresses, std::size_t count, StreamRef stream, Forward forward) noexcept;

/// Before an op after which a stream may wait for the host (for a value, a function): our own waits are bounded then.
void note_host_wait() noexcept;

/// A kernel that runs later, from a graph: its operands stay resident. Arguments as for on_launch.
CUresult on_pin_launch(CUfunction function, void** params, void** extra, Forward forward) noexcept;

// Stream-ordered memory. `pool` is null for the stream's current pool.
CUresult on_alloc_async(CUdeviceptr* address, std::size_t bytes, CUmemoryPool pool, StreamRef stream,
                        Forward forward) noexcept;
CUresult on_free_async(CUdeviceptr address, StreamRef stream, Forward forward) noexcept;

// Plain memory. `bytes` is what will be taken at least (pitched: rows padded, times height); `address` is valid after
// forward.
CUresult on_plain_alloc(const CUdeviceptr* address, std::size_t bytes, Forward forward) noexcept;
CUresult on_plain_free(CUdeviceptr address, Forward forward) noexcept;

// Questions about memory.
CUresult on_mem_get_info(std::size_t* free_bytes, std::size_t* total_bytes, Forward forward) noexcept;
CUresult on_address_range(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address, Forward forward) noexcept;
CUresult on_pointer_attribute(void* data, CUpointer_attribute attribute, CUdeviceptr address, Forward forward) noexcept;
CUresult on_pointer_attributes(unsigned count, CUpointer_attribute* attributes, void** data, CUdeviceptr address,
                               Forward forward) noexcept;

// Code: what a load costs belongs to the fixed cost; an unload makes what is known of kernels void.
CUresult on_code_load(Forward forward) noexcept;
CUresult on_code_unload(Forward forward) noexcept;
/// cuLibraryGetKernel and cuLibraryEnumerateKernels: these handles are kernels, not functions, to the parameter
/// queries.
CUresult on_kernels(const CUkernel* kernels, const unsigned* count, Forward forward) noexcept;

// Streams and contexts.
CUresult on_stream_destroy(CUstream stream, Forward forward) noexcept;
CUresult on_host_function(StreamRef stream, Forward forward) noexcept;
CUresult on_begin_capture(StreamRef stream, Forward forward) noexcept;
CUresult on_end_capture(StreamRef stream, Forward forward) noexcept;
CUresult on_synchronize(Forward forward) noexcept;
CUresult on_graph_launch(StreamRef stream, Forward forward) noexcept;
/// `destroyed` is null for the primary one, which a release or a reset may end.
CUresult on_context_gone(CUcontext destroyed, Forward forward) noexcept;

}  // namespace tensorpager
