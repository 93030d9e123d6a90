#include "tests/simgpu/driver/call.h"

namespace simgpu {

CUresult refused_in_child() noexcept {
  return CUDA_ERROR_NOT_INITIALIZED;
}

Call::Call(Entry entry, Needs needs, CostMember cost)
    : lock_(driver_lock()),
      driver_(the_driver()),
      thread_(this_thread()),
      entry_(entry),
      sequence_(++driver_.call_sequence),
      entered_(driver_.clock.now()) {
  ++driver_.statistics.calls[entry.name];
  if (driver_.settings) spend(driver_.settings->profile.api.*cost);
  result_ = admit(needs);
}

CUresult Call::admit(Needs needs) noexcept {
  if (thread_.in_host_function) return CUDA_ERROR_NOT_PERMITTED;
  if (needs == Needs::nothing) return CUDA_SUCCESS;
  if (!driver_.device) return CUDA_ERROR_NOT_INITIALIZED;
  if (needs == Needs::driver) return CUDA_SUCCESS;
  if (thread_.contexts.empty() || !thread_.contexts.back()) return CUDA_ERROR_INVALID_CONTEXT;
  return context().active ? context().error : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

Call::~Call() {
  driver_.log.write({sequence_, entered_, thread_.ordinal, entry_.name, static_cast<int>(result_), arguments_});
}

void Call::log_address(std::string_view key, std::uint64_t address) {
  if (!driver_.log.is_open()) return;
  if (address == 0 || Window::contains(address)) {
    log(key, fmt::format("{:#x}", address));
  } else {
    log(key, "host");
  }
}

Stream* Call::stream(CUstream handle) {
  if (handle == nullptr) handle = entry_.per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
  if (handle == CU_STREAM_LEGACY) {
    log("stream", "legacy");
    return context().legacy.get();
  }
  if (handle == CU_STREAM_PER_THREAD) {
    log("stream", fmt::format("thread{}", thread_.ordinal));
    return device().per_thread_stream(context(), thread_.ordinal).get();
  }
  const auto stream = driver_.streams.find(handle);
  if (!stream || stream->context != &context()) {
    log("stream", "invalid");
    return nullptr;
  }
  log("stream", stream->ordinal);
  return stream.get();
}

}  // namespace simgpu
