// A small job that is linked to libcuda and knows no runtime library. Its acts are the words of the command line, in
// order; each prints what it found, so that two runs can be compared. Any error of the driver ends it with 1.

#include <cuda.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string_view>
#include <vector>

namespace {

constexpr unsigned kWords = 1u << 20;  // 4 MiB a tensor
constexpr std::size_t kBytes = kWords * sizeof(unsigned);
constexpr unsigned kTensors = 8;

constexpr const char* kAddToAll = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry add_to_all(.param .u64 data, .param .u32 count, .param .u32 addend) {
  .reg .pred %outside;
  .reg .b32 %r<7>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [data];
  ld.param.u32 %r1, [count];
  ld.param.u32 %r2, [addend];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.s32 %r5, %r3, %r4, %r5;
  setp.ge.u32 %outside, %r5, %r1;
  @%outside bra DONE;
  cvta.to.global.u64 %rd1, %rd1;
  mul.wide.u32 %rd2, %r5, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r6, [%rd3];
  add.u32 %r6, %r6, %r2;
  st.global.u32 [%rd3], %r6;
DONE:
  ret;
}
)";

constexpr const char* kUnknownForm = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry odd_kernel(.param .u64 data) {
  .reg .b32 %r<3>;
  mov.u32 %r1, 7;
  frobnicate.rn.u32 %r2, %r1;
  ret;
}
)";

struct Counts {
  unsigned launch = 0, copy = 0, memset = 0, alloc = 0, free = 0;
} counts;

void check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "driver_program: %s: %d\n", call, result);
  std::exit(1);
}
#define CHECK(call) check((call), #call)
#define COUNT(kind, call) (++counts.kind, check((call), #call))

struct Job {
  CUstream stream = nullptr;
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  std::array<CUdeviceptr, kTensors> tensors{};
  unsigned rounds = 0;
};

void start(Job& job) {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuStreamCreate(&job.stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuModuleLoadData(&job.module, kAddToAll));
  CHECK(cuModuleGetFunction(&job.kernel, job.module, "add_to_all"));
}

void add(const Job& job, CUdeviceptr data, unsigned addend) {
  unsigned count = kWords;
  void* parameters[] = {&data, &count, &addend};
  COUNT(launch, cuLaunchKernel(job.kernel, kWords / 256, 1, 1, 256, 1, 1, 0, job.stream, parameters, nullptr));
}

void open(Job& job) {
  std::vector<unsigned> words(kWords / 2);
  std::iota(words.begin(), words.end(), 0u);
  for (unsigned i = 0; i < kTensors; ++i) {
    COUNT(alloc, cuMemAllocAsync(&job.tensors[i], kBytes, job.stream));
    COUNT(memset, cuMemsetD32Async(job.tensors[i], i * 1000, kWords, job.stream));
    COUNT(copy, cuMemcpyHtoDAsync(job.tensors[i] + kBytes / 4, words.data(), kBytes / 2, job.stream));
    words[i] = ~i;  // pageable memory: the copy has read it
  }
  std::puts("open");
}

void copy_half(const Job& job, CUdeviceptr to, CUdeviceptr from) {
  COUNT(copy, cuMemcpyDtoDAsync(to, from, kBytes / 2, job.stream));
}

/// Adds to each tensor; then the first halves go round by one.
void work(Job& job) {
  ++job.rounds;
  for (unsigned i = 0; i < kTensors; ++i) add(job, job.tensors[i], i + job.rounds);
  CUdeviceptr scratch = 0;
  COUNT(alloc, cuMemAllocAsync(&scratch, kBytes, job.stream));
  copy_half(job, scratch, job.tensors[0]);
  for (unsigned i = 1; i < kTensors; ++i) copy_half(job, job.tensors[i - 1], job.tensors[i]);
  copy_half(job, job.tensors[kTensors - 1], scratch);
  COUNT(free, cuMemFreeAsync(scratch, job.stream));
  CHECK(cuStreamSynchronize(job.stream));
  std::printf("work %u\n", job.rounds);
}

unsigned long long sum(const std::vector<unsigned>& words) {
  unsigned long long total = 0;
  for (unsigned word : words) total = total * 31 + word;
  return total;
}

void close(Job& job) {
  std::vector<unsigned> words(kWords);
  for (CUdeviceptr tensor : job.tensors) {
    COUNT(copy, cuMemcpyDtoHAsync(words.data(), tensor, kBytes, job.stream));
    CHECK(cuStreamSynchronize(job.stream));
    COUNT(free, cuMemFreeAsync(tensor, job.stream));
    std::printf("close %u %u %llx\n", words.front(), words.back(), sum(words));
  }
}

/// The same through cuMemAlloc and calls that wait.
void plain(Job& job) {
  CUdeviceptr data = 0;
  std::vector<unsigned> words(kWords / 2, 5);
  COUNT(alloc, cuMemAlloc(&data, kBytes));
  COUNT(memset, cuMemsetD8(data, 1, kBytes));
  COUNT(copy, cuMemcpyHtoD(data, words.data(), kBytes / 2));
  add(job, data, 3);
  CHECK(cuStreamSynchronize(job.stream));
  words.resize(kWords);
  COUNT(copy, cuMemcpyDtoH(words.data(), data, kBytes));
  COUNT(free, cuMemFree(data));
  std::printf("plain %u %u %llx\n", words.front(), words.back(), sum(words));
}

/// The child asks the driver, which does not work in it, and exits as programs do: with all exit handlers.
void fork_child(Job&) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    CUdeviceptr data = 0;
    std::printf("child %d\n", cuMemAlloc(&data, kBytes));
    std::exit(5);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("parent: child exited %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

void unknown_form(Job&) {
  char log[512] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  CUmodule module = nullptr;
  const CUresult result = cuModuleLoadDataEx(&module, kUnknownForm, 2, options, values);
  std::printf("unknown_form %d %s\n", result, log);
}

void threads(Job&) {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  std::printf("threads %td\n", std::distance(begin(tasks), end(tasks)));
}

void print_counts(Job&) {
  std::printf("launch=%u copy=%u memset=%u alloc=%u free=%u\n", counts.launch, counts.copy, counts.memset, counts.alloc,
              counts.free);
}

struct Act {
  std::string_view name;
  void (*run)(Job&);
};
constexpr Act kActs[] = {
    {"open", open},       {"work", work},           {"close", close},
    {"plain", plain},     {"fork", fork_child},     {"unknown_form", unknown_form},
    {"threads", threads}, {"counts", print_counts},
};

void run_act(Job& job, std::string_view name) {
  for (const Act& act : kActs) {
    if (act.name == name) return act.run(job);
  }
  std::fprintf(stderr, "driver_program: unknown act\n");
  std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  Job job;
  start(job);
  for (int i = 1; i < argc; ++i) run_act(job, argv[i]);
  CHECK(cuStreamDestroy(job.stream));
  CHECK(cuModuleUnload(job.module));
  return 0;
}
