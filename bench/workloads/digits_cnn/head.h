#pragma once

// From maps to the loss: max pooling to 8x8, 512 -> 128 -> 10 fully connected with a norm between, softmax
// cross-entropy.

#include <utility>
#include <vector>

#include "bench/workloads/digits_cnn/map_layer.h"

inline constexpr int kFeatures = kChannels * kPooled;
inline constexpr int kHidden = 128;

class FullyConnected {
 public:
  FullyConnected(int inputs, int outputs, Random& random, cudaStream_t stream)
      : inputs_(inputs),
        outputs_(outputs),
        weights_(he_uniform(static_cast<std::size_t>(inputs) * outputs, inputs, random), stream),
        bias_(std::vector<float>(outputs, 0.0f), stream) {}

  std::vector<Parameter*> parameters() { return {&weights_, &bias_}; }

  Tensor forward(Tensor x, int images, cudaStream_t stream) {
    Tensor y(static_cast<std::size_t>(images) * outputs_, stream);
    fully_connected<<<images, outputs_, 0, stream>>>(x.data(), weights_.value.data(), bias_.value.data(), y.data(),
                                                     inputs_);
    CHECK_LAUNCH();
    input_ = std::move(x);
    return y;
  }

  Tensor backward(Tensor dy, int images, cudaStream_t stream) {
    fully_connected_weight_gradient<<<inputs_ + 1, outputs_, 0, stream>>>(
        input_.data(), dy.data(), weights_.new_gradient(stream), bias_.new_gradient(stream), images);
    CHECK_LAUNCH();
    Tensor dx(input_.size(), stream);
    fully_connected_input_gradient<<<images, inputs_, 0, stream>>>(dy.data(), weights_.value.data(), dx.data(),
                                                                   outputs_);
    CHECK_LAUNCH();
    dy.free(stream);
    input_.free(stream);
    return dx;
  }

  void forget(cudaStream_t stream) { input_.free(stream); }

 private:
  int inputs_;
  int outputs_;
  Parameter weights_;
  Parameter bias_;
  Tensor input_;
};

/// Batch norm and ReLU of the hidden features.
class FeatureNorm {
 public:
  explicit FeatureNorm(cudaStream_t stream) : running_(to_device(initial_running(kHidden), stream)) {}

  const Tensor& running() const { return running_; }

  Tensor forward(Tensor x, int images, bool training, cudaStream_t stream) {
    input_ = std::move(x);
    moments_ = DeviceArray<ChannelMoments>(kHidden, stream);
    Tensor y(input_.size(), stream);
    normalise_features<<<1, kHidden, 0, stream>>>(input_.data(), y.data(), reinterpret_cast<float2*>(running_.data()),
                                                  moments_.data(), images, training);
    CHECK_LAUNCH();
    return y;
  }

  Tensor backward(Tensor dy, int images, cudaStream_t stream) {
    Tensor dx(input_.size(), stream);
    normalise_features_gradient<<<1, kHidden, 0, stream>>>(dy.data(), input_.data(), moments_.data(), dx.data(),
                                                           images);
    CHECK_LAUNCH();
    dy.free(stream);
    forget(stream);
    return dx;
  }

  void forget(cudaStream_t stream) {
    input_.free(stream);
    moments_.free(stream);
  }

 private:
  Tensor running_;
  Tensor input_;
  DeviceArray<ChannelMoments> moments_;
};

class Head {
 public:
  Head(Random& random, cudaStream_t stream)
      : first_(kFeatures, kHidden, random, stream), second_(kHidden, kClasses, random, stream), norm_(stream) {}

  std::vector<Parameter*> parameters() {
    std::vector<Parameter*> all = first_.parameters();
    for (Parameter* parameter : second_.parameters()) all.push_back(parameter);
    return all;
  }

  const Tensor& running() const { return norm_.running(); }

  /// The logits.
  Tensor forward(Tensor maps, int images, bool training, cudaStream_t stream) {
    Tensor pooled(static_cast<std::size_t>(images) * kFeatures, stream);
    max_pool<<<images * kChannels, kPooled, 0, stream>>>(maps.data(), pooled.data());
    CHECK_LAUNCH();
    maps_ = std::move(maps);
    Tensor normalised = norm_.forward(first_.forward(std::move(pooled), images, stream), images, training, stream);
    return second_.forward(std::move(normalised), images, stream);
  }

  /// The gradient of the maps.
  Tensor backward(Tensor dlogits, int images, cudaStream_t stream) {
    Tensor dhidden = norm_.backward(second_.backward(std::move(dlogits), images, stream), images, stream);
    Tensor dpooled = first_.backward(std::move(dhidden), images, stream);
    Tensor dmaps(maps_.size(), stream);
    max_pool_gradient<<<images * kChannels, kPooled, 0, stream>>>(dpooled.data(), maps_.data(), dmaps.data());
    CHECK_LAUNCH();
    dpooled.free(stream);
    maps_.free(stream);
    return dmaps;
  }

  /// After a forward pass that no backward pass follows.
  void forget(cudaStream_t stream) {
    maps_.free(stream);
    norm_.forget(stream);
    first_.forget(stream);
    second_.forget(stream);
  }

 private:
  FullyConnected first_;
  FullyConnected second_;
  FeatureNorm norm_;
  Tensor maps_;
};
