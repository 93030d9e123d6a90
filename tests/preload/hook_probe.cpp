// A stand-in for the runtime: tells the fake driver which hook was told, with which address, and forwards.

#include "runtime/hooks.h"

#include <atomic>
#include <cstdlib>

#include "tests/preload/fake_driver.h"

namespace tensorpager {
namespace {

FakeNoteHook note_hook = nullptr;
std::atomic<bool> managed{false};

CUresult note(const char* hook, CUdeviceptr address, Forward forward) {
  if (note_hook != nullptr) note_hook(hook, address);
  return forward();
}
CUresult note(const char* hook, std::initializer_list<CUdeviceptr> addresses, Forward forward) {
  return note(hook, addresses.size() == 0 ? 0 : *addresses.begin(), forward);
}
/// The stream as one number: what NULL means is part of the answer.
CUdeviceptr key(StreamRef stream) {
  return stream.handle == nullptr ? (stream.null_is_per_thread ? 2u : 1u)
                                  : reinterpret_cast<CUdeviceptr>(stream.handle);
}

}  // namespace

bool active() noexcept {
  return managed.load(std::memory_order_relaxed);
}

void on_driver_open(DriverLookup find) noexcept {
  note_hook = reinterpret_cast<FakeNoteHook>(find("fake_note_hook"));
  managed = std::getenv("HOOK_PROBE_INACTIVE") == nullptr;
}

CUresult on_launch(CUfunction, void**, void**, StreamRef stream, Forward forward) noexcept {
  return note("on_launch", key(stream), forward);
}
CUresult on_copy(OpKind kind, std::initializer_list<CUdeviceptr> addresses, StreamRef, Forward forward) noexcept {
  return note(kind == OpKind::copy ? "on_copy" : "on_memset", addresses, forward);
}
CUresult on_copy_list(const CUdeviceptr* const* lists, std::size_t list_count, std::size_t count, StreamRef,
                      Forward forward) noexcept {
  return note("on_copy_list", list_count > 0 && count > 0 ? lists[0][0] : 0, forward);
}
CUresult on_pin(std::initializer_list<CUdeviceptr> addresses, StreamRef, Forward forward) noexcept {
  return note("on_pin", addresses, forward);
}
CUresult on_pin_list(const CUdeviceptr* addresses, std::size_t count, StreamRef, Forward forward) noexcept {
  return note("on_pin_list", count > 0 ? addresses[0] : 0, forward);
}
CUresult on_pin_launch(CUfunction, void**, void**, Forward forward) noexcept {
  return note("on_pin_launch", 0, forward);
}
CUresult on_alloc_async(CUdeviceptr*, std::size_t, CUmemoryPool, StreamRef stream, Forward forward) noexcept {
  return note("on_alloc_async", key(stream), forward);
}
CUresult on_free_async(CUdeviceptr address, StreamRef, Forward forward) noexcept {
  return note("on_free_async", address, forward);
}
CUresult on_plain_alloc(const CUdeviceptr*, std::size_t bytes, Forward forward) noexcept {
  return note("on_plain_alloc", bytes, forward);
}
CUresult on_plain_free(CUdeviceptr address, Forward forward) noexcept {
  return note("on_plain_free", address, forward);
}
CUresult on_mem_get_info(std::size_t*, std::size_t*, Forward forward) noexcept {
  return note("on_mem_get_info", 0, forward);
}
CUresult on_address_range(CUdeviceptr*, std::size_t*, CUdeviceptr address, Forward forward) noexcept {
  return note("on_address_range", address, forward);
}
CUresult on_pointer_attribute(void*, CUpointer_attribute, CUdeviceptr address, Forward forward) noexcept {
  return note("on_pointer_attribute", address, forward);
}
CUresult on_pointer_attributes(unsigned, CUpointer_attribute*, void**, CUdeviceptr address, Forward forward) noexcept {
  return note("on_pointer_attributes", address, forward);
}
CUresult on_code_load(Forward forward) noexcept {
  return note("on_code_load", 0, forward);
}
CUresult on_code_unload(Forward forward) noexcept {
  return note("on_code_unload", 0, forward);
}
CUresult on_kernels(const CUkernel*, const unsigned* count, Forward forward) noexcept {
  return note("on_kernels", *count, forward);
}
CUresult on_stream_destroy(CUstream, Forward forward) noexcept {
  return note("on_stream_destroy", 0, forward);
}
CUresult on_host_function(StreamRef stream, Forward forward) noexcept {
  return note("on_host_function", key(stream), forward);
}
CUresult on_begin_capture(StreamRef stream, Forward forward) noexcept {
  return note("on_begin_capture", key(stream), forward);
}
CUresult on_end_capture(StreamRef stream, Forward forward) noexcept {
  return note("on_end_capture", key(stream), forward);
}
CUresult on_synchronize(Forward forward) noexcept {
  return note("on_synchronize", 0, forward);
}
CUresult on_graph_launch(StreamRef stream, Forward forward) noexcept {
  return note("on_graph_launch", key(stream), forward);
}
void note_host_wait() noexcept {}
CUresult on_context_gone(CUcontext, Forward forward) noexcept {
  return note("on_context_gone", 0, forward);
}

}  // namespace tensorpager
