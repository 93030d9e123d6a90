#pragma once

// Trained values, and plain SGD with momentum.

#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/workloads/digits_cnn/head_kernels.h"
#include "bench/workloads/digits_cnn/random.h"
#include "bench/workloads/digits_cnn/tensor.h"

struct Parameter {
  Tensor value;
  Tensor velocity;
  Tensor gradient;  ///< allocated in the backward pass, freed by the optimizer

  Parameter(const std::vector<float>& initial, cudaStream_t stream)
      : value(to_device(initial, stream)), velocity(initial.size(), stream) {
    CHECK(cudaMemsetAsync(velocity.data(), 0, velocity.bytes(), stream));
  }

  float* new_gradient(cudaStream_t stream) {
    gradient = Tensor(value.size(), stream);
    return gradient.data();
  }
};

/// Uniform in the limits of He et al. 2015.
inline std::vector<float> he_uniform(std::size_t count, int fan_in, Random& random) {
  std::vector<float> values(count);
  const float limit = std::sqrt(6.0f / static_cast<float>(fan_in));
  for (float& value : values) value = random.symmetric(limit);
  return values;
}

class Sgd {
 public:
  void step(const std::vector<Parameter*>& parameters, cudaStream_t stream) {
    // Up over ten steps, then down to a fiftieth at step 120: the same whatever the number of steps, so that a short
    // run is the start of a long one.
    const float t = static_cast<float>(taken_);
    const float rate = kRate * std::min((t + 1.0f) / 10.0f, std::max(1.0f - t / 120.0f, 0.02f));
    for (Parameter* parameter : parameters) apply(*parameter, rate, stream);
    ++taken_;
  }

 private:
  static constexpr float kRate = 0.2f;
  static constexpr float kMomentum = 0.9f;
  static constexpr float kDecay = 1e-4f;
  static constexpr int kThreads = 256;

  static void apply(Parameter& parameter, float rate, cudaStream_t stream) {
    const int count = static_cast<int>(parameter.value.size());
    sgd_momentum<<<(count + kThreads - 1) / kThreads, kThreads, 0, stream>>>(
        parameter.value.data(), parameter.velocity.data(), parameter.gradient.data(), count, rate, kMomentum, kDecay);
    CHECK_LAUNCH();
    parameter.gradient.free(stream);
  }

  int taken_ = 0;
};
