#pragma once

// A driver table for unit tests: hands out handles, writes down each call, and completes events when told to.

#include <map>
#include <string>
#include <vector>

#include "runtime/driver.h"

namespace tensorpager::test {

class RecordingDriver {
 public:
  RecordingDriver() {
    current_ = this;
    table_.cuEventCreate = [](CUevent* event, unsigned) {
      *event = handle<CUevent>();
      return current_->note("create");
    };
    table_.cuEventRecord = [](CUevent event, CUstream stream) {
      current_->recorded[event] = stream;
      return current_->note("record");
    };
    table_.cuEventQuery = [](CUevent) {
      current_->note("query");
      return current_->complete ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    };
    table_.cuEventSynchronize = [](CUevent) { return current_->note("synchronize"); };
    table_.cuStreamWaitEvent = [](CUstream stream, CUevent event, unsigned) {
      current_->waits.emplace_back(stream, current_->recorded[event]);
      return current_->note("wait");
    };
    table_.cuMemAddressReserve = [](CUdeviceptr* base, std::size_t bytes, std::size_t, CUdeviceptr,
                                    unsigned long long) {
      *base = 0x2000'0000'0000;
      if (bytes > current_->most_reserved) return CUDA_ERROR_OUT_OF_MEMORY;
      return current_->note("reserve");
    };
    table_.cuMemAddressFree = [](CUdeviceptr, std::size_t) { return current_->note("unreserve"); };
    replace_driver(&table_);
  }
  ~RecordingDriver() { replace_driver(nullptr); }
  RecordingDriver(const RecordingDriver&) = delete;
  RecordingDriver& operator=(const RecordingDriver&) = delete;

  int count(const std::string& call) const {
    const auto found = calls.find(call);
    return found == calls.end() ? 0 : found->second;
  }

  bool complete = false;         ///< what a query says
  CUresult next = CUDA_SUCCESS;  ///< what the next call returns
  std::map<std::string, int> calls;
  std::map<CUevent, CUstream> recorded;
  std::vector<std::pair<CUstream, CUstream>> waits;  ///< (who waits, for whom)
  std::size_t most_reserved = ~std::size_t{0};

  template <class Handle>
  static Handle handle() {
    return reinterpret_cast<Handle>(next_handle_ += 16);
  }

 private:
  CUresult note(const char* call) {
    ++calls[call];
    return std::exchange(next, CUDA_SUCCESS);
  }

  Driver table_{};
  static inline RecordingDriver* current_ = nullptr;
  static inline std::uintptr_t next_handle_ = 0x1000;
};

}  // namespace tensorpager::test
