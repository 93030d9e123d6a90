#pragma once

// Convolution, batch norm and ReLU on maps of 32x32: the layer of which the network has ten. Each keeps its input, the
// output of the convolution and that of the norm from the forward to the backward pass.

#include <utility>
#include <vector>

#include "bench/workloads/digits_cnn/lanes.h"
#include "bench/workloads/digits_cnn/norm_kernels.h"
#include "bench/workloads/digits_cnn/parameter.h"

inline constexpr int kChannels = 8;

inline const float4* as_quads(const Tensor& tensor) {
  return reinterpret_cast<const float4*>(tensor.data());
}
inline float4* as_quads(Tensor& tensor) {
  return reinterpret_cast<float4*>(tensor.data());
}

enum class Filter { kStem3x3, kFull3x3, kDepthwise3x3, kPointwise };

class Convolution {
 public:
  Convolution(Filter filter, Random& random, cudaStream_t stream)
      : filter_(filter), weights_(he_uniform(weight_count(filter), fan_in(filter), random), stream) {}

  Parameter& weights() { return weights_; }
  bool is_first() const { return filter_ == Filter::kStem3x3; }

  Tensor forward(const Tensor& x, int images, cudaStream_t stream) {
    Tensor y(static_cast<std::size_t>(images) * kChannels * kPixels, stream);
    const float* w = weights_.value.data();
    const int tiles = images * kChannels / channel_tile(kChannels);
    if (filter_ == Filter::kStem3x3) {
      conv3x3<1, kChannels, false><<<tiles, kMapThreads, 0, stream>>>(x.data(), w, y.data());
    } else if (filter_ == Filter::kFull3x3) {
      conv3x3<kChannels, kChannels, false><<<tiles, kMapThreads, 0, stream>>>(x.data(), w, y.data());
    } else if (filter_ == Filter::kDepthwise3x3) {
      depthwise3x3<kChannels, false><<<images * kChannels, kMapThreads, 0, stream>>>(x.data(), w, y.data());
    } else {
      pointwise<kChannels, kChannels, false><<<tiles, kMapThreads, 0, stream>>>(x.data(), w, y.data());
    }
    CHECK_LAUNCH();
    return y;
  }

  /// Not for the first layer: nobody needs the gradient of the images.
  Tensor input_gradient(const Tensor& dy, int images, cudaStream_t stream) {
    Tensor dx(dy.size(), stream);
    const float* w = weights_.value.data();
    const int tiles = images * kChannels / channel_tile(kChannels);
    if (filter_ == Filter::kFull3x3) {
      conv3x3<kChannels, kChannels, true><<<tiles, kMapThreads, 0, stream>>>(dy.data(), w, dx.data());
    } else if (filter_ == Filter::kDepthwise3x3) {
      depthwise3x3<kChannels, true><<<images * kChannels, kMapThreads, 0, stream>>>(dy.data(), w, dx.data());
    } else {
      pointwise<kChannels, kChannels, true><<<tiles, kMapThreads, 0, stream>>>(dy.data(), w, dx.data());
    }
    CHECK_LAUNCH();
    return dx;
  }

  void weight_gradient(const Tensor& x, const Tensor& dy, int images, cudaStream_t stream) {
    const int count = static_cast<int>(weights_.value.size()), parts = images * kSlices;
    Tensor partial(static_cast<std::size_t>(count) * parts, stream);
    launch_partial(x.data(), dy.data(), partial.data(), images, stream);
    CHECK_LAUNCH();
    sum_partials<<<count, kSumThreads, 0, stream>>>(partial.data(), weights_.new_gradient(stream), parts);
    CHECK_LAUNCH();
    partial.free(stream);
  }

 private:
  static int fan_in(Filter filter) {
    return filter == Filter::kFull3x3 ? 9 * kChannels : filter == Filter::kPointwise ? kChannels : 9;
  }
  static std::size_t weight_count(Filter filter) { return static_cast<std::size_t>(kChannels) * fan_in(filter); }

  void launch_partial(const float* x, const float* dy, float* partial, int images, cudaStream_t stream) {
    constexpr int kPairs = kChannels * kChannels;
    if (filter_ == Filter::kStem3x3) {
      conv3x3_weight_gradient<1, kChannels, false><<<images, kChannels * kSlices, 0, stream>>>(x, dy, partial);
    } else if (filter_ == Filter::kFull3x3) {
      conv3x3_weight_gradient<kChannels, kChannels, false><<<images, kPairs * kSlices, 0, stream>>>(x, dy, partial);
    } else if (filter_ == Filter::kDepthwise3x3) {
      conv3x3_weight_gradient<kChannels, kChannels, true><<<images, kChannels * kSlices, 0, stream>>>(x, dy, partial);
    } else {
      pointwise_weight_gradient<kChannels, kChannels><<<images, kPairs / 16 * kSlices, 0, stream>>>(x, dy, partial);
    }
  }

  Filter filter_;
  Parameter weights_;
};

/// {mean, variance} of each channel.
inline std::vector<float> initial_running(int channels) {
  std::vector<float> values;
  for (int c = 0; c < channels; ++c) values.insert(values.end(), {0.0f, 1.0f});
  return values;
}

class BatchNorm {
 public:
  explicit BatchNorm(cudaStream_t stream)
      : gamma_(std::vector<float>(kChannels, 1.0f), stream),
        beta_(std::vector<float>(kChannels, 0.0f), stream),
        running_(to_device(initial_running(kChannels), stream)) {}

  Parameter& gamma() { return gamma_; }
  Parameter& beta() { return beta_; }
  const Tensor& running() const { return running_; }

  Tensor forward(const Tensor& x, int images, bool training, cudaStream_t stream) {
    moments_ = DeviceArray<ChannelMoments>(kChannels, stream);
    auto* running = reinterpret_cast<float2*>(running_.data());
    if (training) {
      DeviceArray<float2> partial = sums(x, x, images, stream);
      finish_moments<<<kChannels, kSumThreads, 0, stream>>>(partial.data(), images * kSide, moments_.data(), running);
      partial.free(stream);
    } else {
      running_moments<<<1, kChannels, 0, stream>>>(running, moments_.data());
    }
    CHECK_LAUNCH();
    Tensor y(x.size(), stream);
    normalise<kChannels><<<images * kChannels, kMapThreads, 0, stream>>>(
        as_quads(x), moments_.data(), gamma_.value.data(), beta_.value.data(), as_quads(y));
    CHECK_LAUNCH();
    if (!training) moments_.free(stream);
    return y;
  }

  Tensor backward(const Tensor& dy, const Tensor& x, int images, cudaStream_t stream) {
    DeviceArray<float2> partial = sums(dy, x, images, stream);
    DeviceArray<float4> coefficients(kChannels, stream);
    finish_norm_gradient<<<kChannels, kSumThreads, 0, stream>>>(
        partial.data(), images * kSide, moments_.data(), gamma_.value.data(), coefficients.data(),
        gamma_.new_gradient(stream), beta_.new_gradient(stream));
    CHECK_LAUNCH();
    partial.free(stream);
    moments_.free(stream);
    Tensor dx(x.size(), stream);
    norm_input_gradient<kChannels>
        <<<images * kChannels, kMapThreads, 0, stream>>>(as_quads(dy), as_quads(x), coefficients.data(), as_quads(dx));
    CHECK_LAUNCH();
    coefficients.free(stream);
    return dx;
  }

 private:
  static DeviceArray<float2> sums(const Tensor& a, const Tensor& b, int images, cudaStream_t stream) {
    DeviceArray<float2> partial(static_cast<std::size_t>(images) * kChannels * kSide, stream);
    row_sums<kChannels><<<images, kChannels * kSide, 0, stream>>>(a.data(), b.data(), partial.data());
    CHECK_LAUNCH();
    return partial;
  }

  Parameter gamma_;
  Parameter beta_;
  Tensor running_;
  DeviceArray<ChannelMoments> moments_;
};

class MapLayer {
 public:
  MapLayer(Filter filter, Random& random, cudaStream_t stream) : convolution_(filter, random, stream), norm_(stream) {}

  std::vector<Parameter*> parameters() { return {&convolution_.weights(), &norm_.gamma(), &norm_.beta()}; }
  const Tensor& running() const { return norm_.running(); }

  const Tensor& input() const { return input_; }
  void forget_input(cudaStream_t stream) { input_.free(stream); }

  /// Keeps x; outside of training nothing else, and the caller ends that with forget_input.
  Tensor forward(Tensor x, int images, bool training, cudaStream_t stream) {
    input_ = std::move(x);
    convolved_ = convolution_.forward(input_, images, stream);
    normalised_ = norm_.forward(convolved_, images, training, stream);
    if (!training) convolved_.free(stream);
    Tensor y(normalised_.size(), stream);
    relu<<<images * kChannels, kMapThreads, 0, stream>>>(as_quads(normalised_), as_quads(y));
    CHECK_LAUNCH();
    if (!training) normalised_.free(stream);
    return y;
  }

  /// Gives what was kept back. The gradient of the input; empty for the first layer.
  Tensor backward(const Tensor& dy, int images, Lanes& lanes) {
    Tensor dnormalised(dy.size(), lanes.main());
    relu_gradient<<<images * kChannels, kMapThreads, 0, lanes.main()>>>(as_quads(dy), as_quads(normalised_),
                                                                        as_quads(dnormalised));
    CHECK_LAUNCH();
    normalised_.free(lanes.main());
    Tensor dconvolved = norm_.backward(dnormalised, convolved_, images, lanes.main());
    dnormalised.free(lanes.main());
    convolved_.free(lanes.main());
    lanes.side_after_main();
    convolution_.weight_gradient(input_, dconvolved, images, lanes.side());
    input_.free(lanes.side());
    Tensor dx;
    if (!convolution_.is_first()) dx = convolution_.input_gradient(dconvolved, images, lanes.main());
    lanes.side_after_main();  // the last use of dconvolved is on either stream
    dconvolved.free(lanes.side());
    return dx;
  }

 private:
  Convolution convolution_;
  BatchNorm norm_;
  Tensor input_;
  Tensor convolved_;
  Tensor normalised_;
};
