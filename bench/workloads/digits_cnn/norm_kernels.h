#pragma once

// Batch normalisation, ReLU and sums over maps of 32x32. Sums over the batch are taken in two passes of fixed order: a
// row of a map a thread, then a channel a block.

#include "bench/workloads/digits_cnn/conv_kernels.h"

inline constexpr float kNormEpsilon = 1e-5f;
inline constexpr float kRunningMomentum = 0.1f;

/// Of one channel; what the forward pass leaves for the backward pass.
struct ChannelMoments {
  float mean;
  float inverse_deviation;
};

/// A block has one image, a thread one row: partial is [channel][image][row] of {sum of a, sum of a*b}.
/// b is a itself for the moments.
template <int kChannels>
__global__ void __launch_bounds__(kChannels* kSide)
    row_sums(const float* __restrict__ a, const float* __restrict__ b, float2* __restrict__ partial) {
  const int channel = threadIdx.x / kSide, row = threadIdx.x % kSide;
  const size_t start = (static_cast<size_t>(blockIdx.x) * kChannels + channel) * kPixels + row * kSide;
  float4 sum = {}, product = {};
#pragma unroll
  for (int i = 0; i < kSide; i += 4) {
    const float4 u = *reinterpret_cast<const float4*>(a + start + i);
    const float4 v = *reinterpret_cast<const float4*>(b + start + i);
    sum.x += u.x, sum.y += u.y, sum.z += u.z, sum.w += u.w;
    product.x += u.x * v.x, product.y += u.y * v.y, product.z += u.z * v.z, product.w += u.w * v.w;
  }
  partial[(channel * gridDim.x + blockIdx.x) * kSide + row] =
      make_float2((sum.x + sum.y) + (sum.z + sum.w), (product.x + product.y) + (product.z + product.w));
}

/// The block's channel: its `count` partial sums, in thread 0.
__device__ inline float2 channel_sum(const float2* partial, int count) {
  __shared__ float2 sums[kSumThreads];
  const float2* at = partial + static_cast<size_t>(blockIdx.x) * count;
  float2 sum = {};
  for (int i = threadIdx.x; i < count; i += kSumThreads) sum.x += at[i].x, sum.y += at[i].y;
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < kSumThreads; ++i) sum.x += sums[i].x, sum.y += sums[i].y;
  }
  return sum;
}

/// A block has one channel. running is {mean, variance} of each channel.
__global__ void __launch_bounds__(kSumThreads)
    finish_moments(const float2* __restrict__ partial, int count, ChannelMoments* __restrict__ moments,
                   float2* __restrict__ running) {
  const float2 sum = channel_sum(partial, count);
  if (threadIdx.x != 0) return;
  const float elements = static_cast<float>(count * kSide);
  const float mean = sum.x / elements;
  const float variance = fmaxf(sum.y / elements - mean * mean, 0.0f);
  moments[blockIdx.x] = {mean, 1.0f / sqrtf(variance + kNormEpsilon)};
  float2 kept = running[blockIdx.x];
  kept.x += kRunningMomentum * (mean - kept.x);
  kept.y += kRunningMomentum * (variance * elements / (elements - 1.0f) - kept.y);
  running[blockIdx.x] = kept;
}

/// The moments to use outside of training; one thread a channel.
__global__ void running_moments(const float2* __restrict__ running, ChannelMoments* __restrict__ moments) {
  const float2 kept = running[threadIdx.x];
  moments[threadIdx.x] = {kept.x, 1.0f / sqrtf(kept.y + kNormEpsilon)};
}

/// y = gamma * (x - mean) / deviation + beta; a block has one map.
template <int kChannels>
__global__ void __launch_bounds__(kMapThreads)
    normalise(const float4* __restrict__ x, const ChannelMoments* __restrict__ moments, const float* __restrict__ gamma,
              const float* __restrict__ beta, float4* __restrict__ y) {
  const int channel = blockIdx.x % kChannels, i = blockIdx.x * kMapThreads + threadIdx.x;
  const float scale = gamma[channel] * moments[channel].inverse_deviation;
  const float shift = beta[channel] - moments[channel].mean * scale;
  const float4 in = x[i];
  y[i] = make_float4(in.x * scale + shift, in.y * scale + shift, in.z * scale + shift, in.w * scale + shift);
}

/// The coefficients of dx = scale * dy + slope * x + offset, and the gradients of gamma and beta; a block has one
/// channel. partial holds the row sums of {dy, dy * x}.
__global__ void __launch_bounds__(kSumThreads)
    finish_norm_gradient(const float2* __restrict__ partial, int count, const ChannelMoments* __restrict__ moments,
                         const float* __restrict__ gamma, float4* __restrict__ coefficients, float* __restrict__ dgamma,
                         float* __restrict__ dbeta) {
  const float2 sum = channel_sum(partial, count);
  if (threadIdx.x != 0) return;
  const ChannelMoments m = moments[blockIdx.x];
  const float elements = static_cast<float>(count * kSide);
  const float along = (sum.y - m.mean * sum.x) * m.inverse_deviation;  // the sum of dy * normalised x
  const float scale = gamma[blockIdx.x] * m.inverse_deviation;
  const float slope = -scale * m.inverse_deviation * along / elements;
  coefficients[blockIdx.x] = make_float4(scale, slope, -scale * sum.x / elements - slope * m.mean, 0.0f);
  dgamma[blockIdx.x] = along;
  dbeta[blockIdx.x] = sum.x;
}

template <int kChannels>
__global__ void __launch_bounds__(kMapThreads)
    norm_input_gradient(const float4* __restrict__ dy, const float4* __restrict__ x,
                        const float4* __restrict__ coefficients, float4* __restrict__ dx) {
  const int i = blockIdx.x * kMapThreads + threadIdx.x;
  const float4 k = coefficients[blockIdx.x % kChannels], g = dy[i], v = x[i];
  dx[i] = make_float4(k.x * g.x + k.y * v.x + k.z, k.x * g.y + k.y * v.y + k.z, k.x * g.z + k.y * v.z + k.z,
                      k.x * g.w + k.y * v.w + k.z);
}

__global__ void __launch_bounds__(kMapThreads) relu(const float4* __restrict__ x, float4* __restrict__ y) {
  const int i = blockIdx.x * kMapThreads + threadIdx.x;
  const float4 in = x[i];
  y[i] = make_float4(fmaxf(in.x, 0.0f), fmaxf(in.y, 0.0f), fmaxf(in.z, 0.0f), fmaxf(in.w, 0.0f));
}

__global__ void __launch_bounds__(kMapThreads)
    relu_gradient(const float4* __restrict__ dy, const float4* __restrict__ x, float4* __restrict__ dx) {
  const int i = blockIdx.x * kMapThreads + threadIdx.x;
  const float4 g = dy[i], v = x[i];
  dx[i] =
      make_float4(v.x > 0.0f ? g.x : 0.0f, v.y > 0.0f ? g.y : 0.0f, v.z > 0.0f ? g.z : 0.0f, v.w > 0.0f ? g.w : 0.0f);
}

__global__ void __launch_bounds__(kMapThreads)
    add(const float4* __restrict__ a, const float4* __restrict__ b, float4* __restrict__ sum) {
  const int i = blockIdx.x * kMapThreads + threadIdx.x;
  const float4 u = a[i], v = b[i];
  sum[i] = make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w);
}
