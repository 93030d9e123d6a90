#pragma once

// The one interface between the simulated device and what it runs: kernels compiled from PTX (ptx/) or written in C++
// and registered by module hash and name (natives). The device knows nothing of PTX; the PTX side knows nothing of
// streams.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace simgpu {

/// Where programs see device memory, and where the host may touch it: a device address `a` is host memory at
/// `a + kAliasOffset`, readable and writable exactly while a chunk or an allocation lies there. The addresses
/// themselves stay PROT_NONE, so that a host dereference faults as on a GPU. All device and page-locked memory lies in
/// the window.
inline constexpr std::uint64_t kWindowBase = 0x2000'0000'0000;
inline constexpr std::uint64_t kWindowBytes = 0x0400'0000'0000;  // 4 TiB
inline constexpr std::uint64_t kAliasOffset = 0x0800'0000'0000;

inline std::byte* host_alias(std::uint64_t device_address) noexcept {
  return reinterpret_cast<std::byte*>(device_address + kAliasOffset);
}

struct Parameter {
  std::uint32_t offset;
  std::uint32_t bytes;
};

struct KernelInfo {
  std::string name;
  std::vector<Parameter> parameters;
  std::uint32_t parameter_bytes = 0;  ///< size of the packed parameter buffer
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t local_bytes = 0;     ///< per thread
  std::uint32_t max_threads = 1024;  ///< per block
};

struct LaunchShape {
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::uint32_t dynamic_shared_bytes = 0;
};

/// What a launch did, for the virtual clock. Independent of the number of workers and of the host.
struct LaunchCost {
  std::uint64_t work = 0;  ///< instructions executed, counted per basic block, over all threads
  std::uint64_t bytes =
      0;  ///< moved by global and generic loads, stores and atomics, counted the same way; a native declares both
};

/// Why a launch failed on the device.
struct LaunchFault {
  enum class Kind { illegal_address, misaligned_address, trap, timeout };
  Kind kind = Kind::illegal_address;
  std::uint64_t address = 0;  ///< device address, when one is known
  std::string detail;         ///< names the kernel and what it did
};

/// A kernel that can run. Thread-safe: immutable after load; the device runs one launch at a time.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual const KernelInfo& info() const noexcept = 0;
  /// Runs all blocks to the end on the calling thread and, where the kernel is unordered (no atomics, fences or
  /// volatile accesses), on the worker threads. `parameters` is the packed buffer, info().parameter_bytes long.
  virtual tl::expected<LaunchCost, LaunchFault> run(const LaunchShape& shape,
                                                    std::span<const std::byte> parameters) = 0;
};

struct Global {
  std::string name;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

struct LoadError {
  enum class Kind {
    invalid_image,  ///< CUDA_ERROR_INVALID_IMAGE: not PTX, not a fat binary
    invalid_ptx,    ///< CUDA_ERROR_INVALID_PTX: malformed, or a form that the executor does not know
    no_binary,      ///< CUDA_ERROR_NO_BINARY_FOR_GPU: only machine code inside
    out_of_memory,  ///< no room for the globals
    compiler,       ///< the host compiler failed
  };
  Kind kind = Kind::invalid_image;
  std::string message;  ///< one line, names the kernel and the instruction where there is one
};

/// A loaded module. Owns its kernels; its globals live in device memory that the Memory below gave.
class Module {
 public:
  virtual ~Module() = default;
  virtual std::uint64_t hash() const noexcept = 0;
  virtual std::vector<std::string> kernel_names() const = 0;
  /// nullptr: no such kernel. Compiles on first request; a failure to compile is a LoadError.
  virtual tl::expected<Kernel*, LoadError> kernel(std::string_view name) = 0;
  virtual std::span<const Global> globals() const noexcept = 0;
};

/// What a module needs from the device at load: memory for its globals, and for constants.
class GlobalMemory {
 public:
  virtual ~GlobalMemory() = default;
  /// A device address in the window with its alias mapped, or 0.
  virtual std::uint64_t allocate(std::uint64_t bytes, std::uint64_t alignment) = 0;
  virtual void release(std::uint64_t address) noexcept = 0;
};

struct LoaderOptions {
  std::string cache_dir;     ///< compiled kernels, keyed by the hash of PTX, executor, compiler and flags
  std::string compiler;      ///< g++ by default
  unsigned workers = 2;      ///< host threads for unordered kernels
  unsigned capability = 75;  ///< of the device, ten times: which PTX of a fat binary is taken
  std::chrono::milliseconds time_limit{60000};  ///< host time of one launch; longer is LaunchFault::Kind::timeout
};

/// `image` is what cuModuleLoadData and cuLibraryLoadData get: PTX text (NUL-terminated), a fat binary, or the wrapper
/// that nvcc emits. Every instruction of every kernel is checked here, so that an unknown form is refused at load, by
/// name.
tl::expected<std::unique_ptr<Module>, LoadError> load_module(const void* image, GlobalMemory& memory,
                                                             const LoaderOptions& options);

/// Natives: a C++ kernel that stands for the PTX kernel `name` of the module with that hash (0: of any module).
using NativeRun = tl::expected<LaunchCost, LaunchFault> (*)(const LaunchShape&, std::span<const std::byte> parameters);
void register_native(std::uint64_t module_hash, std::string_view name, NativeRun run);
NativeRun find_native(std::uint64_t module_hash, std::string_view name) noexcept;

}  // namespace simgpu
