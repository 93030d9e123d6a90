#pragma once

// A small job that knows what every byte of its tensors must be. It orders its streams as a correct program does, so a
// wrong byte is the pager's fault.

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "runtime/pager.h"
#include "tests/contract/sim_driver.h"

namespace tensorpager::test {

struct JobTensor {
  CUdeviceptr address = 0;
  std::size_t words = 0;
  std::uint32_t stamp = 0;  ///< the value of every word; 0: never written
  CUstream last = nullptr;  ///< where its last op went
};

class Job {
 public:
  Job(Pager& pager, int streams) : pager_(pager) {
    streams_.resize(static_cast<std::size_t>(streams));
    for (CUstream& stream : streams_) EXPECT_EQ(sim().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    EXPECT_EQ(sim().cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  }

  ~Job() {
    EXPECT_EQ(sim().cuCtxSynchronize(), CUDA_SUCCESS);
    for (auto& tensor : tensors_) EXPECT_EQ(free(*tensor, streams_[0]), CUDA_SUCCESS);
  }

  const SimDriver& sim() const { return SimDriver::open(); }
  CUstream stream(std::size_t index) const { return streams_[index % streams_.size()]; }
  std::size_t streams() const { return streams_.size(); }
  std::vector<std::unique_ptr<JobTensor>>& tensors() { return tensors_; }

  /// nullptr when the allocation was refused.
  JobTensor* alloc(std::size_t bytes, CUstream stream) {
    auto tensor = std::make_unique<JobTensor>();
    tensor->words = bytes / 4;
    tensor->last = stream;
    const CUresult result =
        pager_.allocator().allocate(&tensor->address, bytes, pager_.streams().find({stream, false}));
    if (result != CUDA_SUCCESS) {
      last_error = result;
      return nullptr;
    }
    tensors_.push_back(std::move(tensor));
    return tensors_.back().get();
  }

  void release(JobTensor& tensor, CUstream stream) {
    EXPECT_EQ(free(tensor, stream), CUDA_SUCCESS);
    std::erase_if(tensors_, [&](const auto& held) { return held.get() == &tensor; });
  }

  CUresult write(JobTensor& tensor, CUstream stream) {
    follow(tensor, stream);
    const std::uint32_t stamp = ++stamps_;
    const CUresult result = submit(OpKind::memset, {tensor.address}, stream,
                                   [&] { return sim().cuMemsetD32Async(tensor.address, stamp, tensor.words, stream); });
    if (result == CUDA_SUCCESS) tensor.stamp = stamp;
    return result;
  }

  CUresult copy(JobTensor& to, JobTensor& from, CUstream stream) {
    follow(to, stream);
    follow(from, stream);
    const CUresult result = submit(OpKind::copy, {to.address, from.address}, stream, [&] {
      return sim().cuMemcpyDtoDAsync_v2(to.address, from.address, from.words * 4, stream);
    });
    if (result == CUDA_SUCCESS) to.stamp = from.stamp;
    return result;
  }

  /// Reads the tensor back and compares every word.
  CUresult check(JobTensor& tensor, CUstream stream) {
    if (tensor.stamp == 0) return CUDA_SUCCESS;
    follow(tensor, stream);
    read_.assign(tensor.words, 0);
    const CUresult result = submit(OpKind::copy, {tensor.address}, stream, [&] {
      return sim().cuMemcpyDtoHAsync_v2(read_.data(), tensor.address, tensor.words * 4, stream);
    });
    if (result != CUDA_SUCCESS) return result;
    EXPECT_EQ(sim().cuStreamSynchronize(stream), CUDA_SUCCESS);
    const auto wrong = std::ranges::find_if(read_, [&](std::uint32_t word) { return word != tensor.stamp; });
    EXPECT_EQ(wrong, read_.end()) << "word " << wrong - read_.begin() << " of " << tensor.words << " is " << *wrong
                                  << ", written was " << tensor.stamp;
    return result;
  }

  void check_all() {
    for (auto& tensor : tensors_) EXPECT_EQ(check(*tensor, streams_[0]), CUDA_SUCCESS);
  }

  CUresult last_error = CUDA_SUCCESS;

 private:
  template <class Call>
  CUresult submit(OpKind kind, std::initializer_list<CUdeviceptr> addresses, CUstream stream, Call call) {
    return pager_.submit(kind, {addresses.begin(), addresses.size()}, {stream, false}, false, call);
  }

  CUresult free(JobTensor& tensor, CUstream stream) {
    follow(tensor, stream);
    return pager_.allocator().free(tensor.address, pager_.streams().find({stream, false}));
  }

  // What a program must do when it goes on with a tensor on another stream.
  void follow(JobTensor& tensor, CUstream stream) {
    if (tensor.last == stream) return;
    EXPECT_EQ(sim().cuEventRecord(event_, tensor.last), CUDA_SUCCESS);
    EXPECT_EQ(sim().cuStreamWaitEvent(stream, event_, 0), CUDA_SUCCESS);
    tensor.last = stream;
  }

  Pager& pager_;
  std::vector<CUstream> streams_;
  CUevent event_ = nullptr;
  std::vector<std::unique_ptr<JobTensor>> tensors_;
  std::vector<std::uint32_t> read_;
  std::uint32_t stamps_ = 0;
};

}  // namespace tensorpager::test
