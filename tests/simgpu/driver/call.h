#pragma once

// The frame of every entry point: take the lock, charge the host clock, check what the call needs, run it, log it.

#include <cuda.h>
#include <fmt/format.h>

#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "tests/simgpu/driver/driver.h"

namespace simgpu {

/// Which exported symbol was called, and what a NULL stream means there.
struct Entry {
  const char* name;
  bool per_thread = false;
};

enum class Needs {
  nothing,  ///< works before cuInit
  driver,   ///< cuInit
  context,  ///< a current context without a sticky error
};

using CostMember = Nanoseconds ApiCosts::*;

class Call {
 public:
  Call(Entry entry, Needs needs, CostMember cost);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  bool admitted() const noexcept { return result_ == CUDA_SUCCESS; }
  CUresult finish(CUresult result) noexcept { return result_ = result; }
  CUresult result() const noexcept { return result_; }

  Driver& driver() noexcept { return driver_; }
  Device& device() noexcept { return *driver_.device; }
  Context& context() noexcept { return *thread_.contexts.back(); }
  ThreadState& thread() noexcept { return thread_; }
  const Entry& entry() const noexcept { return entry_; }
  void spend(Nanoseconds time) noexcept { driver_.clock.spend(time); }

  template <class Value>
  void log(std::string_view key, const Value& value) {
    if (driver_.log.is_open()) fmt::format_to(std::back_inserter(arguments_), "\t{}={}", key, value);
  }
  /// Host addresses differ from run to run: only those in the window are written.
  void log_address(std::string_view key, std::uint64_t address);

  /// The stream of a handle under the entry's rule, logged; nullptr: no such stream.
  Stream* stream(CUstream handle);
  /// The sticky error after something that waited.
  CUresult outcome() noexcept { return context().error; }

 private:
  CUresult admit(Needs needs) noexcept;
  std::unique_lock<std::mutex> lock_;
  Driver& driver_;
  ThreadState& thread_;
  Entry entry_;
  std::uint64_t sequence_;
  Nanoseconds entered_;
  CUresult result_;
  std::string arguments_;
};

/// Answers for a process that must not touch the device: nothing is locked or logged.
CUresult refused_in_child() noexcept;

template <class Body>
CUresult api(Entry entry, Needs needs, CostMember cost, Body body) noexcept {
  if (forked()) return refused_in_child();
  Call call(entry, needs, cost);
  if (!call.admitted()) return call.result();
  try {
    return call.finish(body(call));
  } catch (const std::bad_alloc&) {
    return call.finish(CUDA_ERROR_OUT_OF_MEMORY);
  } catch (const std::exception&) {
    return call.finish(CUDA_ERROR_UNKNOWN);
  }
}

template <class Body>
CUresult api(Entry entry, Body body) noexcept {
  return api(entry, Needs::context, &ApiCosts::call, body);
}

// Defines an entry point and its per-thread twin over one implementation that takes the Entry first.
#define SIMGPU_BOTH(name, suffix, implementation, parameters, ...)  \
  CUresult name parameters {                                        \
    return implementation(Entry{#name, false}, __VA_ARGS__);        \
  }                                                                 \
  CUresult name##suffix parameters {                                \
    return implementation(Entry{#name #suffix, true}, __VA_ARGS__); \
  }

}  // namespace simgpu
