#pragma once

// A driver table in which the k-th call of one function, or of all, fails with a given code and does nothing.

#include <atomic>
#include <string>
#include <string_view>

#include "runtime/driver.h"

namespace tensorpager::test {

class FailingDriver {
 public:
  /// `name` empty: any call counts. `nth` from 1; 0: nothing fails, calls are only counted.
  FailingDriver(std::string_view name, int nth, CUresult code) {
    real_ = driver();
    name_ = name;
    nth_ = nth;
    code_ = code;
    calls_ = 0;
    failed_ = "";
    Driver table;
#define TENSORPAGER_WRAP_CALL(function)       \
  Wrap<& Driver::function>::name = #function; \
  table.function = Wrap<&Driver::function>::call;
    TENSORPAGER_DRIVER_CALLS(TENSORPAGER_WRAP_CALL)
#undef TENSORPAGER_WRAP_CALL
    table.cuGetErrorName = real_.cuGetErrorName;
    table_ = table;
    replace_driver(&table_);
  }
  ~FailingDriver() {
    replace_driver(nullptr);
  }
  FailingDriver(const FailingDriver&) = delete;
  FailingDriver& operator=(const FailingDriver&) = delete;

  int calls() const {
    return calls_;
  }
  /// Which call failed; empty: none has.
  std::string_view failed() const {
    return failed_;
  }

 private:
  static bool fails(const char* name) {
    if (!name_.empty() && name_ != name) return false;
    if (++calls_ != nth_) return false;
    failed_ = name;
    return true;
  }

  template <auto Member>
  struct Wrap;
  template <class... Arguments, CUresult (*Driver::*Member)(Arguments...)>
  struct Wrap<Member> {
    static inline const char* name = "";
    static CUresult call(Arguments... arguments) { return fails(name) ? code_ : (real_.*Member)(arguments...); }
  };

  Driver table_;
  static inline Driver real_;
  static inline std::string name_;
  static inline std::atomic<int> calls_ = 0;
  static inline int nth_ = 0;
  static inline CUresult code_ = CUDA_SUCCESS;
  static inline const char* failed_ = "";
};

}  // namespace tensorpager::test
