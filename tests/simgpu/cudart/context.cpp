#include "tests/simgpu/cudart/context.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "tests/simgpu/cudart/registry.h"

namespace simgpu::cudart {
namespace {

constexpr int kMaxDevices = 64;

thread_local int device_of_thread = 0;
/// The reset count at which the thread's context was made current; no driver call is needed while it holds.
thread_local std::uint64_t bound_at = 0;

std::atomic<std::uint64_t> resets{1};

std::mutex primary_mutex;
std::array<CUcontext, kMaxDevices> primary_contexts{};

/// Retained once a device for the life of the process, as the runtime is one user of the context.
CUresult retain_primary(int device, CUcontext& context) {
  const std::lock_guard lock(primary_mutex);
  CUcontext& retained = primary_contexts[static_cast<std::size_t>(device)];
  if (retained == nullptr) {
    CUdevice handle = 0;
    if (const CUresult result = driver().cuDeviceGet(&handle, device); result != CUDA_SUCCESS) return result;
    if (const CUresult result = driver().cuDevicePrimaryCtxRetain(&retained, handle); result != CUDA_SUCCESS)
      return result;
  }
  context = retained;
  return CUDA_SUCCESS;
}

CUresult make_primary_current(int device) {
  CUcontext context = nullptr;
  if (const CUresult result = retain_primary(device, context); result != CUDA_SUCCESS) return result;
  if (const CUresult result = driver().cuCtxSetCurrent(context); result != CUDA_SUCCESS) return result;
  bound_at = resets.load();
  return CUDA_SUCCESS;
}

/// An image that fails to load is loaded again, and fails again, at its first use: there somebody looks.
void load_eager_images_once() {
  static const cudaError_t result = load_eager_images();
  static_cast<void>(result);
}

cudaError_t check_device(int device) {
  int count = 0;
  if (const CUresult result = driver().cuDeviceGetCount(&count); result != CUDA_SUCCESS) return from_driver(result);
  return device >= 0 && device < count && device < kMaxDevices ? cudaSuccess : cudaErrorInvalidDevice;
}

}  // namespace

int current_device() {
  return device_of_thread;
}

cudaError_t select_device(int device) {
  return with_driver([&] {
    if (const cudaError_t error = check_device(device); error != cudaSuccess) return error;
    device_of_thread = device;
    return from_driver(make_primary_current(device));
  });
}

cudaError_t ensure_context() {
  if (bound_at == resets.load(std::memory_order_relaxed)) return cudaSuccess;
  if (const cudaError_t error = load_driver(); error != cudaSuccess) return error;
  CUcontext current = nullptr;
  if (bound_at == 0 && driver().cuCtxGetCurrent(&current) == CUDA_SUCCESS && current != nullptr) {
    bound_at = resets.load();
  } else if (const CUresult result = make_primary_current(device_of_thread); result != CUDA_SUCCESS) {
    return from_driver(result);
  }
  load_eager_images_once();
  return cudaSuccess;
}

cudaError_t reset_device() {
  return with_driver([] {
    CUdevice handle = 0;
    if (const CUresult result = driver().cuDeviceGet(&handle, device_of_thread); result != CUDA_SUCCESS) {
      return from_driver(result);
    }
    const std::lock_guard lock(primary_mutex);
    primary_contexts[static_cast<std::size_t>(device_of_thread)] = nullptr;
    ++resets;
    return from_driver(driver().cuDevicePrimaryCtxReset(handle));
  });
}

}  // namespace simgpu::cudart
