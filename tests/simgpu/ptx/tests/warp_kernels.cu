// Warp operations: with all lanes, with some, with lanes that have left, in branches and loops that part the warp.

constexpr unsigned kAll = 0xffffffffu;

extern "C" __global__ void warp_operations(const int* values, int* out, int columns) {
  const int lane = threadIdx.x & 31;
  const int v = values[blockIdx.x * blockDim.x + threadIdx.x];
  int* to = out + (blockIdx.x * blockDim.x + threadIdx.x) * columns;
  *to++ = __shfl_up_sync(kAll, v, 1);
  *to++ = __shfl_sync(kAll, v, lane * 7);
  *to++ = __shfl_down_sync(kAll, v, 3, 8);
  *to++ = __shfl_xor_sync(kAll, v, 5, 16);
  *to++ = __shfl_sync(kAll, v, lane + 1, 4);
  *to++ = (int)__ballot_sync(kAll, v & 1);
  *to++ = __any_sync(kAll, v == 77) | __all_sync(kAll, v >= 0) << 1 | __all_sync(kAll, v > 5) << 2;
  *to++ = (int)__match_any_sync(kAll, v % 5);
  int part;
  if (lane < 10) {
    part = __shfl_sync(0x3ffu, v, lane ^ 1);
    part += (int)__activemask();
  } else {
    part = __shfl_down_sync(~0x3ffu, v, 2);
  }
  *to++ = part;
  int sum = 0;
  for (int k = 0; k < lane % 3; ++k) {
    const unsigned here = __activemask();
    sum += __shfl_sync(here, v, __ffs(here) - 1);
  }
  *to++ = sum;
  long long wide = ((long long)v << 32) | lane;
  wide = __shfl_xor_sync(kAll, wide, 1);
  *to++ = (int)(wide >> 32) + (int)wide;
  if (lane >= 24) return;
  *to++ = (int)__ballot_sync(0xffffffu, 1);
}

extern "C" __global__ void sync_warp(int* data) {
  __shared__ volatile int box[64];
  box[threadIdx.x] = data[threadIdx.x];
  __syncwarp();
  if ((threadIdx.x & 31) < 16) {
    const int other = box[threadIdx.x + 16];
    __syncwarp(0xffff);
    box[threadIdx.x] += other;
  }
  __syncwarp();
  data[threadIdx.x] = box[(threadIdx.x & 32) + (threadIdx.x & 15)];
}
