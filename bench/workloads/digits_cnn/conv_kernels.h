#pragma once

// Convolutions over maps of 32x32, stride 1, same size, no bias (a batch norm follows each). A block has 256 threads
// and one image; a thread computes four pixels of a row for up to four channels, in registers.

#include "bench/workloads/digits_cnn/dataset.h"

inline constexpr int kQuad = 4;                           ///< pixels a thread
inline constexpr int kQuadsPerRow = kSide / kQuad;        ///< 8
inline constexpr int kMapThreads = kSide * kQuadsPerRow;  ///< 256 threads cover one map
inline constexpr int kSlices = 4;                         ///< parts of a map in a weight gradient's partial sums
inline constexpr int kSliceRows = kSide / kSlices;

__host__ __device__ constexpr int channel_tile(int channels) {
  return channels % 4 == 0 ? 4 : 1;
}

/// Pixels column-kReach .. column+kQuad-1+kReach of a row; zero outside of the map.
template <int kReach>
__device__ inline void load_row(float (&pixels)[kQuad + 2 * kReach], const float* map, int row, int column) {
#pragma unroll
  for (float& pixel : pixels) pixel = 0.0f;
  if (row < 0 || row >= kSide) return;
  const float* at = map + row * kSide + column;
  const float4 middle = *reinterpret_cast<const float4*>(at);
  pixels[kReach] = middle.x, pixels[kReach + 1] = middle.y, pixels[kReach + 2] = middle.z,
  pixels[kReach + 3] = middle.w;
#pragma unroll
  for (int i = 0; i < kReach; ++i) {
    if (column > 0) pixels[i] = at[i - kReach];
    if (column + kQuad < kSide) pixels[kReach + kQuad + i] = at[kQuad + i];
  }
}

__device__ inline void store_quad(float* map, int row, int column, const float (&sum)[kQuad]) {
  *reinterpret_cast<float4*>(map + row * kSide + column) = make_float4(sum[0], sum[1], sum[2], sum[3]);
}

/// kGradient: the same sum with the weights turned round, which gives the gradient of the input from that of the
/// output. Weights are [output channel][input channel][9] of the forward convolution.
template <int kIn, int kOut, bool kGradient>
__global__ void __launch_bounds__(kMapThreads)
    conv3x3(const float* __restrict__ x, const float* __restrict__ weights, float* __restrict__ y) {
  constexpr int kTile = channel_tile(kOut);
  constexpr int kTiles = kOut / kTile;
  const int image = blockIdx.x / kTiles, first = blockIdx.x % kTiles * kTile;
  const int row = threadIdx.x / kQuadsPerRow, column = threadIdx.x % kQuadsPerRow * kQuad;
  float sum[kTile][kQuad] = {};
#pragma unroll 1
  for (int c = 0; c < kIn; ++c) {
    const float* map = x + (image * kIn + c) * kPixels;
#pragma unroll
    for (int dy = 0; dy < 3; ++dy) {
      float pixels[kQuad + 2];
      load_row<1>(pixels, map, row + dy - 1, column);
#pragma unroll
      for (int o = 0; o < kTile; ++o) {
        const float* w = weights + (kGradient ? (c * kOut + first + o) * 9 : ((first + o) * kIn + c) * 9);
#pragma unroll
        for (int dx = 0; dx < 3; ++dx) {
          const float weight = w[kGradient ? 8 - (dy * 3 + dx) : dy * 3 + dx];
#pragma unroll
          for (int p = 0; p < kQuad; ++p) sum[o][p] += weight * pixels[p + dx];
        }
      }
    }
  }
#pragma unroll
  for (int o = 0; o < kTile; ++o) store_quad(y + (image * kOut + first + o) * kPixels, row, column, sum[o]);
}

inline constexpr int kDilation = 2;

/// One 3x3 filter a channel, its taps kDilation pixels apart: a block has one map.
template <int kChannels, bool kGradient>
__global__ void __launch_bounds__(kMapThreads)
    depthwise3x3(const float* __restrict__ x, const float* __restrict__ weights, float* __restrict__ y) {
  const float* map = x + blockIdx.x * kPixels;
  const float* w = weights + blockIdx.x % kChannels * 9;
  const int row = threadIdx.x / kQuadsPerRow, column = threadIdx.x % kQuadsPerRow * kQuad;
  float sum[kQuad] = {};
#pragma unroll
  for (int dy = 0; dy < 3; ++dy) {
    float pixels[kQuad + 2 * kDilation];
    load_row<kDilation>(pixels, map, row + (dy - 1) * kDilation, column);
#pragma unroll
    for (int dx = 0; dx < 3; ++dx) {
      const float weight = w[kGradient ? 8 - (dy * 3 + dx) : dy * 3 + dx];
#pragma unroll
      for (int p = 0; p < kQuad; ++p) sum[p] += weight * pixels[p + dx * kDilation];
    }
  }
  store_quad(y + blockIdx.x * kPixels, row, column, sum);
}

/// Weights are [output channel][input channel] of the forward convolution.
template <int kIn, int kOut, bool kGradient>
__global__ void __launch_bounds__(kMapThreads)
    pointwise(const float* __restrict__ x, const float* __restrict__ weights, float* __restrict__ y) {
  constexpr int kTile = channel_tile(kOut);
  constexpr int kTiles = kOut / kTile;
  const int image = blockIdx.x / kTiles, first = blockIdx.x % kTiles * kTile;
  float4 sum[kTile] = {};
#pragma unroll
  for (int c = 0; c < kIn; ++c) {
    const float4 in = reinterpret_cast<const float4*>(x + (image * kIn + c) * kPixels)[threadIdx.x];
#pragma unroll
    for (int o = 0; o < kTile; ++o) {
      const float weight = weights[kGradient ? c * kOut + first + o : (first + o) * kIn + c];
      sum[o].x += weight * in.x, sum[o].y += weight * in.y, sum[o].z += weight * in.z, sum[o].w += weight * in.w;
    }
  }
#pragma unroll
  for (int o = 0; o < kTile; ++o) {
    reinterpret_cast<float4*>(y + (image * kOut + first + o) * kPixels)[threadIdx.x] = sum[o];
  }
}

/// Partial sums of the weight gradient: a thread has one pair of channels (of maps in the depthwise case) and one slice
/// of rows. partial is [weight][image][slice]; a block has one image. Launch with pairs * kSlices threads.
template <int kIn, int kOut, bool kDepthwise>
__global__ void conv3x3_weight_gradient(const float* __restrict__ x, const float* __restrict__ dy,
                                        float* __restrict__ partial) {
  const int image = blockIdx.x, pair = threadIdx.x / kSlices, slice = threadIdx.x % kSlices;
  const int in = kDepthwise ? pair : pair % kIn, out = kDepthwise ? pair : pair / kIn;
  constexpr int kReach = kDepthwise ? kDilation : 1;
  const float* map = x + (image * kIn + in) * kPixels;
  const float* gradient = dy + (image * kOut + out) * kPixels;
  float sum[9] = {};
#pragma unroll 1
  for (int row = slice * kSliceRows; row < (slice + 1) * kSliceRows; ++row) {
#pragma unroll 1
    for (int column = 0; column < kSide; column += kQuad) {
      const float4 quad = *reinterpret_cast<const float4*>(gradient + row * kSide + column);
#pragma unroll
      for (int ky = 0; ky < 3; ++ky) {
        float pixels[kQuad + 2 * kReach];
        load_row<kReach>(pixels, map, row + (ky - 1) * kReach, column);
#pragma unroll
        for (int kx = 0; kx < 3; ++kx) {
          const float* at = pixels + kx * kReach;
          sum[ky * 3 + kx] += quad.x * at[0] + quad.y * at[1] + quad.z * at[2] + quad.w * at[3];
        }
      }
    }
  }
#pragma unroll
  for (int k = 0; k < 9; ++k) partial[((pair * 9 + k) * gridDim.x + image) * kSlices + slice] = sum[k];
}

/// As above for 1x1 weights: a thread has a tile of 4x4 channel pairs. Launch with (kOut / 4) * (kIn / 4) * kSlices
/// threads.
template <int kIn, int kOut>
__global__ void pointwise_weight_gradient(const float* __restrict__ x, const float* __restrict__ dy,
                                          float* __restrict__ partial) {
  const int image = blockIdx.x, tile = threadIdx.x / kSlices, slice = threadIdx.x % kSlices;
  const int in = tile % (kIn / 4) * 4, out = tile / (kIn / 4) * 4;
  const float* maps = x + (image * kIn + in) * kPixels + slice * kSliceRows * kSide;
  const float* gradients = dy + (image * kOut + out) * kPixels + slice * kSliceRows * kSide;
  float sum[4][4] = {};
#pragma unroll 1
  for (int pixel = 0; pixel < kSliceRows * kSide; ++pixel) {
    float value[4], gradient[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) value[i] = maps[i * kPixels + pixel], gradient[i] = gradients[i * kPixels + pixel];
#pragma unroll
    for (int o = 0; o < 4; ++o) {
#pragma unroll
      for (int i = 0; i < 4; ++i) sum[o][i] += gradient[o] * value[i];
    }
  }
#pragma unroll
  for (int o = 0; o < 4; ++o) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      partial[(((out + o) * kIn + in + i) * gridDim.x + image) * kSlices + slice] = sum[o][i];
    }
  }
}

inline constexpr int kSumThreads = 64;

/// total[block] = the sum of `count` partial sums, always in the same order.
__global__ void __launch_bounds__(kSumThreads)
    sum_partials(const float* __restrict__ partial, float* __restrict__ total, int count) {
  __shared__ float sums[kSumThreads];
  const float* at = partial + static_cast<size_t>(blockIdx.x) * count;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < count; i += kSumThreads) sum += at[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < kSumThreads; ++i) sum += sums[i];
  total[blockIdx.x] = sum;
}
