// Asks the runtime for one thing after the other and checks the answers. Built twice: for the legacy and for the
// per-thread default stream. Runs on any device; on a real one with NVIDIA's runtime.

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

int failures = 0;

void expect(bool holds, const char* what, int line) {
  if (holds) return;
  std::printf("FAILED line %d: %s\n", line, what);
  ++failures;
}

#define EXPECT(condition) expect((condition), #condition, __LINE__)
#define OK(call) EXPECT((call) == cudaSuccess)

struct Scale {
  int offset;
  float factor;
  float* data;
};

__constant__ float constant_factor[4];
__device__ int device_counter = 7;

__global__ void fill(int* out, int count, int start) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = start + i;
}

__global__ void scale(Scale by, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) by.data[i] = (by.data[i] + static_cast<float>(by.offset)) * by.factor * constant_factor[1];
}

__global__ void bump() {
  device_counter += 5;
}

__global__ void reverse_block(const int* in, int* out) {
  extern __shared__ int staged[];
  staged[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = staged[blockDim.x - 1 - threadIdx.x];
}

template <typename T>
std::vector<T> fetch(const T* data, std::size_t count) {
  std::vector<T> values(count);
  OK(cudaMemcpy(values.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}

bool counts_from(const std::vector<int>& values, int start) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != start + static_cast<int>(i)) return false;
  }
  return true;
}

void test_device() {
  int count = 0, device = -1, runtime = 0, driver = 0, value = 0;
  OK(cudaGetDeviceCount(&count));
  EXPECT(count >= 1);
  OK(cudaSetDevice(0));
  OK(cudaGetDevice(&device));
  EXPECT(device == 0);
  OK(cudaRuntimeGetVersion(&runtime));
  OK(cudaDriverGetVersion(&driver));
  EXPECT(runtime / 1000 == 13);
  EXPECT(driver >= runtime / 1000 * 1000);
  cudaDeviceProp properties;
  OK(cudaGetDeviceProperties(&properties, 0));
  EXPECT(properties.warpSize == 32 && properties.totalGlobalMem > 0 && properties.name[0] != '\0');
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxThreadsPerBlock, 0));
  EXPECT(value == properties.maxThreadsPerBlock && value >= 512);
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 0));
  EXPECT(value == properties.major);
  EXPECT(cudaSetDevice(count) == cudaErrorInvalidDevice);
  EXPECT(cudaGetLastError() == cudaErrorInvalidDevice);
  EXPECT(cudaGetDeviceProperties(&properties, count) == cudaErrorInvalidDevice);
  cudaGetLastError();
}

void test_memory() {
  constexpr int kCount = 1000;
  int *a = nullptr, *b = nullptr;
  OK(cudaMalloc(&a, kCount * sizeof(int)));
  OK(cudaMalloc(&b, kCount * sizeof(int)));
  std::vector<int> values(kCount);
  for (int i = 0; i < kCount; ++i) values[i] = 3 + i;
  OK(cudaMemcpy(a, values.data(), kCount * sizeof(int), cudaMemcpyHostToDevice));
  OK(cudaMemcpy(b, a, kCount * sizeof(int), cudaMemcpyDeviceToDevice));
  EXPECT(counts_from(fetch(b, kCount), 3));
  std::vector<int> back(kCount);
  OK(cudaMemcpy(back.data(), b, kCount * sizeof(int), cudaMemcpyDefault));
  EXPECT(back == values);
  OK(cudaMemset(b, 0x11, kCount * sizeof(int)));
  EXPECT(fetch(b, kCount)[kCount - 1] == 0x11111111);
  OK(cudaMemcpy(b, a, 0, cudaMemcpyDeviceToDevice));
  EXPECT(cudaMemcpy(b, a, 4, static_cast<cudaMemcpyKind>(9)) == cudaErrorInvalidMemcpyDirection);
  cudaGetLastError();
  OK(cudaFree(a));
  OK(cudaFree(b));
  OK(cudaFree(nullptr));
  void* none = &none;
  OK(cudaMalloc(&none, 0));
  EXPECT(none == nullptr);
  EXPECT(cudaMalloc(&none, std::size_t{1} << 50) == cudaErrorMemoryAllocation);
  EXPECT(cudaGetLastError() == cudaErrorMemoryAllocation);
}

void test_rectangles() {
  constexpr std::size_t kWidth = 40, kHeight = 5, kHostPitch = 64;
  unsigned char* device = nullptr;
  std::size_t pitch = 0;
  OK(cudaMallocPitch(&device, &pitch, kWidth, kHeight));
  EXPECT(pitch >= kWidth);
  std::vector<unsigned char> host(kHostPitch * kHeight), back(kHostPitch * kHeight, 0xee);
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<unsigned char>(i);
  OK(cudaMemset2D(device, pitch, 0, pitch, kHeight));
  OK(cudaMemcpy2D(device, pitch, host.data(), kHostPitch, kWidth, kHeight, cudaMemcpyHostToDevice));
  OK(cudaMemset2D(device + pitch, pitch, 9, kWidth, 1));
  OK(cudaMemcpy2D(back.data(), kHostPitch, device, pitch, kWidth, kHeight, cudaMemcpyDeviceToHost));
  EXPECT(back[0] == host[0] && back[kWidth - 1] == host[kWidth - 1] && back[kWidth] == 0xee);
  EXPECT(back[kHostPitch] == 9 && back[kHostPitch + kWidth - 1] == 9);
  EXPECT(back[4 * kHostPitch + 7] == host[4 * kHostPitch + 7]);
  EXPECT(cudaMemcpy2D(device, pitch, host.data(), kWidth - 1, kWidth, 1, cudaMemcpyHostToDevice) ==
         cudaErrorInvalidPitchValue);
  cudaGetLastError();
  OK(cudaFree(device));
}

void test_host_memory() {
  int* pinned = nullptr;
  OK(cudaMallocHost(&pinned, 4096));
  cudaPointerAttributes attributes;
  OK(cudaPointerGetAttributes(&attributes, pinned));
  EXPECT(attributes.type == cudaMemoryTypeHost && attributes.hostPointer == pinned);
  int* device = nullptr;
  OK(cudaMalloc(&device, 4096));
  OK(cudaPointerGetAttributes(&attributes, device + 3));
  EXPECT(attributes.type == cudaMemoryTypeDevice && attributes.device == 0 && attributes.devicePointer == device + 3);
  int local = 0;
  OK(cudaPointerGetAttributes(&attributes, &local));
  EXPECT(attributes.type == cudaMemoryTypeUnregistered);
  OK(cudaFree(device));
  OK(cudaFreeHost(pinned));
  OK(cudaHostAlloc(&pinned, 4096, cudaHostAllocPortable));
  OK(cudaFreeHost(pinned));
  OK(cudaFreeHost(nullptr));
}

void test_pools() {
  cudaMemPool_t pool = nullptr;
  OK(cudaDeviceGetDefaultMemPool(&pool, 0));
  std::uint64_t threshold = UINT64_MAX, read = 0;
  OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &read));
  EXPECT(read == threshold);
  cudaStream_t stream = nullptr;
  OK(cudaStreamCreate(&stream));
  int* data = nullptr;
  constexpr int kCount = 1 << 20;
  std::size_t free_before = 0, free_with = 0, total = 0;
  OK(cudaMemGetInfo(&free_before, &total));
  OK(cudaMallocAsync(&data, kCount * sizeof(int), stream));
  fill<<<kCount / 256, 256, 0, stream>>>(data, kCount, 11);
  OK(cudaGetLastError());
  std::vector<int> values(kCount);
  OK(cudaMemcpyAsync(values.data(), data, kCount * sizeof(int), cudaMemcpyDeviceToHost, stream));
  OK(cudaStreamSynchronize(stream));
  EXPECT(counts_from(values, 11));
  OK(cudaMemGetInfo(&free_with, &total));
  EXPECT(free_with < free_before && free_before <= total);
  std::uint64_t used = 0;
  OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  EXPECT(used >= kCount * sizeof(int));
  OK(cudaFreeAsync(data, stream));
  OK(cudaMallocFromPoolAsync(&data, 1024, pool, stream));
  OK(cudaFreeAsync(data, stream));
  OK(cudaStreamSynchronize(stream));
  OK(cudaMemPoolTrimTo(pool, 0));
  OK(cudaStreamDestroy(stream));
}

void test_launches() {
  constexpr int kCount = 300;
  int *data = nullptr, *out = nullptr;
  OK(cudaMalloc(&data, kCount * sizeof(int)));
  OK(cudaMalloc(&out, kCount * sizeof(int)));
  int count = kCount, start = 21;
  void* arguments[] = {&data, &count, &start};
  OK(cudaLaunchKernel(reinterpret_cast<const void*>(fill), dim3(3), dim3(100), arguments, 0, nullptr));
  EXPECT(counts_from(fetch(data, kCount), 21));
  start = 33;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(3);
  config.blockDim = dim3(100);
  OK(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(fill), arguments));
  EXPECT(counts_from(fetch(data, kCount), 33));
  start = 45;
  OK(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(fill), dim3(3), dim3(100), arguments, 0, nullptr));
  EXPECT(counts_from(fetch(data, kCount), 45));
  reverse_block<<<1, kCount, kCount * sizeof(int)>>>(data, out);
  OK(cudaGetLastError());
  EXPECT(fetch(out, kCount)[0] == 45 + kCount - 1);
  fill<<<1, 4096>>>(data, kCount, 0);
  EXPECT(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
  EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
  EXPECT(cudaGetLastError() == cudaSuccess);
  EXPECT(cudaLaunchKernel(&count, dim3(1), dim3(1), arguments, 0, nullptr) == cudaErrorInvalidDeviceFunction);
  cudaGetLastError();
  OK(cudaFree(data));
  OK(cudaFree(out));
}

void test_symbols() {
  const float factors[4] = {1.0f, 0.5f, 2.0f, 4.0f};
  OK(cudaMemcpyToSymbol(constant_factor, factors, sizeof factors));
  float one = 0.0f;
  OK(cudaMemcpyFromSymbol(&one, constant_factor, sizeof one, 2 * sizeof(float)));
  EXPECT(one == 2.0f);
  std::size_t bytes = 0;
  OK(cudaGetSymbolSize(&bytes, constant_factor));
  EXPECT(bytes == sizeof factors);
  EXPECT(cudaMemcpyToSymbol(constant_factor, factors, sizeof factors, 4) == cudaErrorInvalidValue);
  cudaGetLastError();
  float* data = nullptr;
  OK(cudaMalloc(&data, 64 * sizeof(float)));
  OK(cudaMemset(data, 0, 64 * sizeof(float)));
  scale<<<1, 64>>>(Scale{6, 3.0f, data}, 64);
  EXPECT(fetch(data, 64)[63] == 9.0f);
  OK(cudaFree(data));
  bump<<<1, 1>>>();
  int counter = 0;
  OK(cudaMemcpyFromSymbol(&counter, device_counter, sizeof counter));
  EXPECT(counter == 12);
  void* address = nullptr;
  OK(cudaGetSymbolAddress(&address, device_counter));
  EXPECT(fetch(static_cast<int*>(address), 1)[0] == 12);
  EXPECT(cudaGetSymbolAddress(&address, &counter) == cudaErrorInvalidSymbol);
  cudaGetLastError();
}

void add_one(void* data) {
  ++*static_cast<int*>(data);
}

void CUDART_CB note_status(cudaStream_t, cudaError_t status, void* data) {
  *static_cast<int*>(data) = status == cudaSuccess ? 100 : -1;
}

void test_streams_and_events() {
  int least = 0, greatest = 0, priority = 1;
  OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT(greatest <= least);
  cudaStream_t first = nullptr, second = nullptr;
  OK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  OK(cudaStreamCreateWithPriority(&second, cudaStreamNonBlocking, greatest));
  OK(cudaStreamGetPriority(second, &priority));
  EXPECT(priority == greatest);
  unsigned flags = 0;
  OK(cudaStreamGetFlags(first, &flags));
  EXPECT(flags == cudaStreamNonBlocking);
  cudaEvent_t start = nullptr, end = nullptr;
  OK(cudaEventCreate(&start));
  OK(cudaEventCreateWithFlags(&end, cudaEventDefault));
  int* data = nullptr;
  OK(cudaMalloc(&data, 4096 * sizeof(int)));
  OK(cudaEventRecord(start, first));
  fill<<<16, 256, 0, first>>>(data, 4096, 1);
  OK(cudaEventRecord(end, first));
  OK(cudaStreamWaitEvent(second, end, 0));
  std::vector<int> values(4096);
  OK(cudaMemcpyAsync(values.data(), data, 4096 * sizeof(int), cudaMemcpyDeviceToHost, second));
  int calls = 0, status = 0;
  OK(cudaLaunchHostFunc(second, add_one, &calls));
  OK(cudaStreamAddCallback(second, note_status, &status, 0));
  OK(cudaStreamSynchronize(second));
  EXPECT(counts_from(values, 1) && calls == 1 && status == 100);
  OK(cudaEventSynchronize(end));
  OK(cudaEventQuery(end));
  OK(cudaStreamQuery(second));
  float milliseconds = -1.0f;
  OK(cudaEventElapsedTime(&milliseconds, start, end));
  EXPECT(milliseconds > 0.0f);
  OK(cudaMemsetAsync(data, 0xff, 16, second));
  OK(cudaDeviceSynchronize());
  EXPECT(fetch(data, 1)[0] == -1);
  OK(cudaFree(data));
  OK(cudaEventDestroy(start));
  OK(cudaEventDestroy(end));
  OK(cudaStreamDestroy(first));
  OK(cudaStreamDestroy(second));
}

void test_functions() {
  cudaFuncAttributes attributes;
  OK(cudaFuncGetAttributes(&attributes, fill));
  EXPECT(attributes.maxThreadsPerBlock > 0);
  int blocks = 0;
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 256, 0));
  EXPECT(blocks >= 1);
  OK(cudaFuncSetAttribute(reverse_block, cudaFuncAttributeMaxDynamicSharedMemorySize, 48 * 1024));
  std::size_t offset = 0, bytes = 0;
  OK(cudaFuncGetParamInfo(reinterpret_cast<const void*>(scale), 1, &offset, &bytes));
  EXPECT(offset == sizeof(Scale) && bytes == sizeof(int));
}

void test_reset() {
  int* data = nullptr;
  OK(cudaMalloc(&data, 4096));
  OK(cudaDeviceReset());
  OK(cudaMalloc(&data, 4096));
  fill<<<1, 64>>>(data, 64, 5);
  OK(cudaGetLastError());
  EXPECT(counts_from(fetch(data, 64), 5));
  OK(cudaFree(data));
}

__global__ void write_nowhere(int* out) {
  *out = 1;
}

/// The error stays: the context is lost.
void test_illegal_address() {
  write_nowhere<<<1, 1>>>(reinterpret_cast<int*>(16));
  EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  cudaGetLastError();
  void* pointer = nullptr;
  EXPECT(cudaMalloc(&pointer, 4096) == cudaErrorIllegalAddress);
  EXPECT(std::strcmp(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress") == 0);
  EXPECT(std::strstr(cudaGetErrorString(cudaErrorIllegalAddress), "illegal memory access") != nullptr);
}

}  // namespace

int main() {
  const struct {
    const char* name;
    void (*run)();
  } tests[] = {{"device", test_device},
               {"memory", test_memory},
               {"rectangles", test_rectangles},
               {"host memory", test_host_memory},
               {"pools", test_pools},
               {"launches", test_launches},
               {"symbols", test_symbols},
               {"streams and events", test_streams_and_events},
               {"functions", test_functions},
               {"reset", test_reset},
               {"illegal address", test_illegal_address}};
  for (const auto& test : tests) {
    const int before = failures;
    test.run();
    std::printf("%-20s %s\n", test.name, failures == before ? "ok" : "FAILED");
  }
  return failures == 0 ? 0 : 1;
}
