#include "runtime/driver.h"

#include <atomic>

namespace tensorpager {
namespace {

Driver g_loaded;
std::atomic<const Driver*> g_current{&g_loaded};

}  // namespace

const Driver& driver() noexcept {
  return *g_current.load(std::memory_order_acquire);
}

std::string_view load_driver(DriverLookup find) noexcept {
#define TENSORPAGER_FIND_CALL(name)                                      \
  g_loaded.name = reinterpret_cast<decltype(Driver::name)>(find(#name)); \
  if (g_loaded.name == nullptr) return #name;
  TENSORPAGER_DRIVER_CALLS(TENSORPAGER_FIND_CALL)
#undef TENSORPAGER_FIND_CALL
  return {};
}

void replace_driver(const Driver* table) noexcept {
  g_current.store(table != nullptr ? table : &g_loaded, std::memory_order_release);
}

const char* error_name(CUresult code) noexcept {
  const char* name = nullptr;
  if (driver().cuGetErrorName == nullptr || driver().cuGetErrorName(code, &name) != CUDA_SUCCESS || name == nullptr) {
    return "unknown error";
  }
  return name;
}

OwnCalls::OwnCalls(CUcontext context) noexcept {
  relaxed_ = driver().cuThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS;
  CUcontext current = nullptr;
  driver().cuCtxGetCurrent(&current);
  pushed_ = current != context && driver().cuCtxPushCurrent_v2(context) == CUDA_SUCCESS;
}

OwnCalls::~OwnCalls() {
  CUcontext popped = nullptr;
  if (pushed_) driver().cuCtxPopCurrent_v2(&popped);
  if (relaxed_) driver().cuThreadExchangeStreamCaptureMode(&mode_);
}

}  // namespace tensorpager
