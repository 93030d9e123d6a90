#pragma once

// The end of the network: max pooling 4x4, fully connected layers with a batch norm
// between, softmax cross-entropy, and SGD. All sizes are small.

#include "bench/workloads/digits_cnn/norm_kernels.h"

inline constexpr int kPool = 4;
inline constexpr int kPooledSide = kSide / kPool;
inline constexpr int kPooled = kPooledSide * kPooledSide;  ///< 64 threads cover one pooled map

__device__ inline const float* pool_window(const float* x) {
  const int row = threadIdx.x / kPooledSide, column = threadIdx.x % kPooledSide;
  return x + blockIdx.x * kPixels + row * kPool * kSide + column * kPool;
}

/// A block has one map.
__global__ void __launch_bounds__(kPooled) max_pool(const float* __restrict__ x, float* __restrict__ y) {
  const float* window = pool_window(x);
  float largest = window[0];
  for (int row = 0; row < kPool; ++row) {
    for (int column = 0; column < kPool; ++column) largest = fmaxf(largest, window[row * kSide + column]);
  }
  y[blockIdx.x * kPooled + threadIdx.x] = largest;
}

/// The first of equal maxima gets the gradient.
__global__ void __launch_bounds__(kPooled)
    max_pool_gradient(const float* __restrict__ dy, const float* __restrict__ x, float* __restrict__ dx) {
  const float* window = pool_window(x);
  float* out = dx + (window - x);
  int chosen = 0;
  float largest = window[0];
  for (int k = 1; k < kPool * kPool; ++k) {
    const float value = window[k / kPool * kSide + k % kPool];
    if (value > largest) largest = value, chosen = k;
  }
  const float gradient = dy[blockIdx.x * kPooled + threadIdx.x];
  for (int k = 0; k < kPool * kPool; ++k) out[k / kPool * kSide + k % kPool] = k == chosen ? gradient : 0.0f;
}

/// y[image][out] = bias[out] + sum of x[image][in] * weights[in][out]; a block has one image, a thread one output.
__global__ void fully_connected(const float* __restrict__ x, const float* __restrict__ weights,
                                const float* __restrict__ bias, float* __restrict__ y, int inputs) {
  const float* in = x + blockIdx.x * inputs;
  const int out = threadIdx.x, outputs = blockDim.x;
  float sum = bias[out];
  for (int i = 0; i < inputs; ++i) sum += in[i] * weights[i * outputs + out];
  y[blockIdx.x * outputs + out] = sum;
}

/// A block has one image, a thread one input.
__global__ void fully_connected_input_gradient(const float* __restrict__ dy, const float* __restrict__ weights,
                                               float* __restrict__ dx, int outputs) {
  const float* gradient = dy + blockIdx.x * outputs;
  const int in = threadIdx.x, inputs = blockDim.x;
  float sum = 0.0f;
  for (int o = 0; o < outputs; ++o) sum += gradient[o] * weights[in * outputs + o];
  dx[blockIdx.x * inputs + in] = sum;
}

/// A block has one input, a thread one output; the block after the last input makes the gradient of the bias.
__global__ void fully_connected_weight_gradient(const float* __restrict__ x, const float* __restrict__ dy,
                                                float* __restrict__ dweights, float* __restrict__ dbias, int images) {
  const int in = blockIdx.x, out = threadIdx.x, inputs = gridDim.x - 1, outputs = blockDim.x;
  float sum = 0.0f;
  if (in < inputs) {
    for (int n = 0; n < images; ++n) sum += x[n * inputs + in] * dy[n * outputs + out];
    dweights[in * outputs + out] = sum;
  } else {
    for (int n = 0; n < images; ++n) sum += dy[n * outputs + out];
    dbias[out] = sum;
  }
}

/// Batch norm without scale and shift, then ReLU, over [image][feature]; one block, a thread has one feature. running
/// is {mean, variance}; in training it is updated, else used.
__global__ void normalise_features(const float* __restrict__ x, float* __restrict__ y, float2* __restrict__ running,
                                   ChannelMoments* __restrict__ moments, int images, bool training) {
  const int feature = threadIdx.x, features = blockDim.x;
  float2 kept = running[feature];
  float mean = kept.x, variance = kept.y;
  if (training) {
    const float share = 1.0f / static_cast<float>(images);
    mean = 0.0f, variance = 0.0f;
    for (int n = 0; n < images; ++n) mean += x[n * features + feature] * share;
    for (int n = 0; n < images; ++n) {
      const float off = x[n * features + feature] - mean;
      variance += off * off * share;
    }
    kept.x += kRunningMomentum * (mean - kept.x);
    kept.y += kRunningMomentum * (variance * images / (images - 1.0f) - kept.y);
    running[feature] = kept;
  }
  const float scale = 1.0f / sqrtf(variance + kNormEpsilon);
  moments[feature] = {mean, scale};
  for (int n = 0; n < images; ++n) {
    y[n * features + feature] = fmaxf((x[n * features + feature] - mean) * scale, 0.0f);
  }
}

__global__ void normalise_features_gradient(const float* __restrict__ dy, const float* __restrict__ x,
                                            const ChannelMoments* __restrict__ moments, float* __restrict__ dx,
                                            int images) {
  const int feature = threadIdx.x, features = blockDim.x;
  const ChannelMoments m = moments[feature];
  const float share = 1.0f / static_cast<float>(images);
  float sum = 0.0f, along = 0.0f;
  for (int n = 0; n < images; ++n) {
    const float value = (x[n * features + feature] - m.mean) * m.inverse_deviation;
    const float gradient = value > 0.0f ? dy[n * features + feature] : 0.0f;
    sum += gradient * share, along += gradient * value * share;
  }
  for (int n = 0; n < images; ++n) {
    const float value = (x[n * features + feature] - m.mean) * m.inverse_deviation;
    const float gradient = value > 0.0f ? dy[n * features + feature] : 0.0f;
    dx[n * features + feature] = m.inverse_deviation * (gradient - sum - value * along);
  }
}

/// A thread has one image: its loss and the gradient of its logits, both divided by the batch.
__global__ void softmax_cross_entropy(const float* __restrict__ logits, const int* __restrict__ labels,
                                      float* __restrict__ losses, float* __restrict__ dlogits, int images) {
  const int image = blockIdx.x * blockDim.x + threadIdx.x;
  if (image >= images) return;
  const float* row = logits + image * kClasses;
  float largest = row[0], sum = 0.0f;
  for (int k = 1; k < kClasses; ++k) largest = fmaxf(largest, row[k]);
  for (int k = 0; k < kClasses; ++k) sum += expf(row[k] - largest);
  const float share = 1.0f / static_cast<float>(images);
  losses[image] = (logf(sum) + largest - row[labels[image]]) * share;
  for (int k = 0; k < kClasses; ++k) {
    const float probability = expf(row[k] - largest) / sum;
    dlogits[image * kClasses + k] = (probability - (k == labels[image] ? 1.0f : 0.0f)) * share;
  }
}

/// 1 where the largest logit is the label's; a thread has one image.
__global__ void mark_correct(const float* __restrict__ logits, const int* __restrict__ labels, float* __restrict__ hits,
                             int images) {
  const int image = blockIdx.x * blockDim.x + threadIdx.x;
  if (image >= images) return;
  const float* row = logits + image * kClasses;
  int best = 0;
  for (int k = 1; k < kClasses; ++k) best = row[k] > row[best] ? k : best;
  hits[image] = best == labels[image] ? 1.0f : 0.0f;
}

__global__ void sgd_momentum(float* __restrict__ weights, float* __restrict__ velocity,
                             const float* __restrict__ gradient, int count, float rate, float momentum, float decay) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float v = momentum * velocity[i] + gradient[i] + decay * weights[i];
  velocity[i] = v;
  weights[i] -= rate * v;
}
