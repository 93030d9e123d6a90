// Kernels of the kinds that training programs have, as users write them; compiled to PTX at build time for the executor's tests.

extern "C" {

__global__ void saxpy(int n, float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

__global__ void gelu(int n, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
}

__global__ void unary_functions(int n, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = expf(x[i]);
  y[n + i] = logf(x[i]);
  y[2 * n + i] = sqrtf(x[i]);
  y[3 * n + i] = powf(fabsf(x[i]), 1.7f);
  y[4 * n + i] = rsqrtf(x[i]);
  y[5 * n + i] = sinf(x[i]);
  y[6 * n + i] = cosf(x[i]);
  y[7 * n + i] = 1.0f / x[i];
  y[8 * n + i] = __expf(x[i]);
  y[9 * n + i] = __logf(x[i]);
  y[10 * n + i] = erff(x[i]);
}

__global__ void softmax(const float* x, float* y, int columns) {
  __shared__ float partial[32];
  const float* row = x + (size_t)blockIdx.x * columns;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  float largest = -INFINITY;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) largest = fmaxf(largest, row[i]);
  for (int d = 16; d > 0; d >>= 1) largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, d));
  if (lane == 0) partial[warp] = largest;
  __syncthreads();
  largest = partial[0];
  for (int w = 1; w < warps; ++w) largest = fmaxf(largest, partial[w]);
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += expf(row[i] - largest);
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, d);
  if (lane == 0) partial[warp] = sum;
  __syncthreads();
  sum = 0;
  for (int w = 0; w < warps; ++w) sum += partial[w];
  for (int i = threadIdx.x; i < columns; i += blockDim.x) y[(size_t)blockIdx.x * columns + i] = expf(row[i] - largest) / sum;
}

__global__ void batch_norm_statistics(const float* x, float* mean, float* inverse, int images, int channels, int area) {
  extern __shared__ float scratch[];
  float* squares = scratch + blockDim.x;
  const int channel = blockIdx.x;
  float sum = 0, square = 0;
  for (int i = threadIdx.x; i < images * area; i += blockDim.x) {
    const float v = x[((i / area) * channels + channel) * area + i % area];
    sum += v;
    square += v * v;
  }
  scratch[threadIdx.x] = sum;
  squares[threadIdx.x] = square;
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      scratch[threadIdx.x] += scratch[threadIdx.x + half];
      squares[threadIdx.x] += squares[threadIdx.x + half];
    }
  }
  if (threadIdx.x == 0) {
    const float n = (float)images * area;
    mean[channel] = scratch[0] / n;
    inverse[channel] = rsqrtf(squares[0] / n - mean[channel] * mean[channel] + 1e-5f);
  }
}

__global__ void sgemm_tiled(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float left[16][16], right[16][17];
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int at = 0; at < k; at += 16) {
    left[threadIdx.y][threadIdx.x] = row < m && at + threadIdx.x < k ? a[row * k + at + threadIdx.x] : 0.0f;
    right[threadIdx.y][threadIdx.x] = column < n && at + threadIdx.y < k ? b[(at + threadIdx.y) * n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

__global__ void conv3x3(const float* x, const float* w, const float* bias, float* y, int channels, int height, int width, int outputs) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int area = height * width;
  if (i >= area * outputs) return;
  const int column = i % width, row = i / width % height, output = i / area;
  x += (size_t)blockIdx.y * channels * area;
  float sum = bias[output];
  for (int c = 0; c < channels; ++c)
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx) {
        const int h = row + dy, v = column + dx;
        if (h >= 0 && h < height && v >= 0 && v < width)
          sum += x[(c * height + h) * width + v] * w[((output * channels + c) * 3 + dy + 1) * 3 + dx + 1];
      }
  y[(size_t)blockIdx.y * outputs * area + i] = sum;
}

// Four outputs a thread.
__global__ void conv3x3_register_tiled(const float* x, const float* w, float* y, int channels, int height, int width) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int area = height * width, padded = (height + 2) * (width + 2);
  if (i >= area) return;
  const int column = i % width, row = i / width;
  const float* at = x + (size_t)blockIdx.y * channels * padded + row * (width + 2) + column;
  float s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0;
  for (int c = 0; c < channels; ++c, at += padded)
    for (int t = 0; t < 9; ++t) {
      const float v = at[t / 3 * (width + 2) + t % 3];
      const float* k = w + (c * 9 + t) * 8;
      s0 += v * k[0], s1 += v * k[1], s2 += v * k[2], s3 += v * k[3];
      s4 += v * k[4], s5 += v * k[5], s6 += v * k[6], s7 += v * k[7];
    }
  float* out = y + (size_t)blockIdx.y * 8 * area + i;
  out[0] = s0, out[area] = s1, out[2 * area] = s2, out[3 * area] = s3;
  out[4 * area] = s4, out[5 * area] = s5, out[6 * area] = s6, out[7 * area] = s7;
}

__global__ void histogram(const unsigned char* x, unsigned* bins, int n) {
  __shared__ unsigned counts[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) counts[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&counts[x[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], counts[i]);
}

__global__ void cross_entropy(const float* logits, const int* labels, float* loss, float* gradient, int rows, int classes) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const float* x = logits + row * classes;
  float largest = x[0], sum = 0;
  for (int c = 1; c < classes; ++c) largest = fmaxf(largest, x[c]);
  for (int c = 0; c < classes; ++c) sum += expf(x[c] - largest);
  loss[row] = logf(sum) - (x[labels[row]] - largest);
  for (int c = 0; c < classes; ++c) gradient[row * classes + c] = (expf(x[c] - largest) / sum - (c == labels[row] ? 1.0f : 0.0f)) / rows;
}

__global__ void max_pool(const float4* x, float2* y, unsigned char* choice, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 v = x[i];
  y[i] = make_float2(fmaxf(v.x, v.y), fmaxf(v.z, v.w));
  choice[i] = (unsigned char)((v.y > v.x) | (v.w > v.z) << 1);
}

}  // extern "C"
