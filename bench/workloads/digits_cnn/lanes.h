#pragma once

#include "bench/workloads/digits_cnn/check.h"

class Event {
 public:
  explicit Event(unsigned flags = cudaEventDefault) { CHECK(cudaEventCreateWithFlags(&event_, flags)); }
  ~Event() { CHECK(cudaEventDestroy(event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(cudaStream_t stream) { CHECK(cudaEventRecord(event_, stream)); }
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// The streams of the training loop: `side` computes gradients of weights while `main` goes on with the backward pass.
/// With one stream both are the same, and nothing waits.
class Lanes {
 public:
  explicit Lanes(long streams) {
    CHECK(cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking));
    side_ = main_;
    if (streams == 2) CHECK(cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking));
  }
  ~Lanes() {
    if (side_ != main_) CHECK(cudaStreamDestroy(side_));
    CHECK(cudaStreamDestroy(main_));
  }
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  cudaStream_t main() const { return main_; }
  cudaStream_t side() const { return side_; }
  /// What `side` is given from now on runs after all that `main` was given so far.
  void side_after_main() { after(side_, main_, main_reached_); }
  void main_after_side() { after(main_, side_, side_reached_); }

 private:
  static void after(cudaStream_t later, cudaStream_t earlier, Event& reached) {
    if (later == earlier) return;
    reached.record(earlier);
    CHECK(cudaStreamWaitEvent(later, reached.get(), 0));
  }

  cudaStream_t main_ = nullptr;
  cudaStream_t side_ = nullptr;
  Event main_reached_{cudaEventDisableTiming};
  Event side_reached_{cudaEventDisableTiming};
};
