// Things that programs seldom do, and the driver's answers to them. Linked to libcuda; the acts are the words of the
// command line. What it prints must be the same with the runtime library and without, so nothing is printed that a
// budget may change. Meant for the profile `test` of the simulated device.

#include <cuda.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t kGrain = 64 << 10;  // of the profile

#define ANSWER(call) std::printf("%s: %d\n", #call, call)

void check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  std::printf("unusual_program: %s: %d\n", call, result);
  std::exit(1);
}
#define CHECK(call) check((call), #call)

CUstream make_stream() {
  CUstream stream = nullptr;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  return stream;
}

CUdeviceptr make_tensor(std::size_t bytes, unsigned value, CUstream stream) {
  CUdeviceptr tensor = 0;
  CHECK(cuMemAllocAsync(&tensor, bytes, stream));
  CHECK(cuMemsetD32Async(tensor, value, bytes / 4, stream));
  return tensor;
}

bool holds(CUdeviceptr tensor, std::size_t bytes, unsigned value, CUstream stream) {
  std::vector<unsigned> words(bytes / 4);
  CHECK(cuMemcpyDtoHAsync(words.data(), tensor, bytes, stream));
  CHECK(cuStreamSynchronize(stream));
  return std::ranges::all_of(words, [&](unsigned word) { return word == value; });
}

void use_primary_context() {
  CUcontext context = nullptr;
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
}

/// Blocks that share one piece of memory: a second free of the first must not take the others' from them.
void small_block_freed_twice() {
  const CUstream stream = make_stream();
  const CUdeviceptr first = make_tensor(512, 1, stream);
  const CUdeviceptr second = make_tensor(4096, 2, stream);
  CHECK(cuMemFreeAsync(first, stream));
  ANSWER(cuMemFreeAsync(first, stream));
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  ANSWER(cuMemGetAddressRange(&base, &bytes, first));
  const CUdeviceptr third = make_tensor(kGrain, 3, stream);
  std::printf("kept %d %d\n", holds(second, 4096, 2, stream), holds(third, kGrain, 3, stream));
  CHECK(cuMemFreeAsync(second, stream));
  CHECK(cuMemFreeAsync(third, stream));
}

/// Numbers of granules that do not fit 32 bits, or whose bytes do not fit 64.
void sizes_beyond_every_address() {
  const CUstream stream = make_stream();
  CUdeviceptr huge = 0;
  for (const std::size_t bytes : {std::size_t{1} << 48, std::size_t{1} << 53, (std::size_t{1} << 48) + kGrain}) {
    std::printf("%zu: %d\n", bytes, cuMemAllocAsync(&huge, bytes, stream));
  }
  const CUdeviceptr tensor = make_tensor(kGrain, 1, stream);
  std::printf("kept %d\n", holds(tensor, kGrain, 1, stream));
}

/// Larger than a granule, and smaller than min_block where that is set.
void blocks_of_more_than_a_granule() {
  const CUstream stream = make_stream();
  std::vector<CUdeviceptr> tensors;
  for (unsigned i = 0; i < 8; ++i) tensors.push_back(make_tensor((i % 3 + 1) * kGrain - i * 512, i, stream));
  for (unsigned i = 0; i < 8; ++i) std::printf("%u %d\n", i, holds(tensors[i], kGrain / 2, i, stream));
  for (const CUdeviceptr tensor : tensors) CHECK(cuMemFreeAsync(tensor, stream));
  ANSWER(cuMemFreeAsync(tensors[1], stream));
}

/// Null where an address is expected. (Null inside a list of addresses is more than the driver bears.)
void null_arguments() {
  const CUstream stream = make_stream();
  const CUdeviceptr tensor = make_tensor(kGrain, 1, stream);
  std::size_t bytes = 0;
  ANSWER(cuMemGetInfo(nullptr, &bytes));
  ANSWER(cuMemGetInfo(&bytes, nullptr));
  ANSWER(cuMemGetInfo(nullptr, nullptr));
  ANSWER(cuMemAllocAsync(nullptr, kGrain, stream));
  ANSWER(cuMemAllocAsync(nullptr, 1, stream));
  ANSWER(cuMemAlloc(nullptr, 1));
  ANSWER(cuMemGetAddressRange(nullptr, nullptr, tensor));
  ANSWER(cuPointerGetAttribute(nullptr, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, tensor));
  CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
  void* data = &bytes;
  ANSWER(cuPointerGetAttributes(1, nullptr, &data, tensor));
  ANSWER(cuPointerGetAttributes(1, &attribute, nullptr, tensor));
  ANSWER(cuPointerGetAttributes(0, nullptr, nullptr, tensor));
  ANSWER(cuMemcpy2D(nullptr));
  ANSWER(cuMemFreeAsync(0, stream));
  ANSWER(cuMemFree(0));
}

constexpr const char* kIncrement = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry increment(.param .u64 data) {
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [data];
  cvta.to.global.u64 %rd1, %rd1;
  ld.global.u32 %r1, [%rd1];
  add.u32 %r1, %r1, 1;
  st.global.u32 [%rd1], %r1;
  ret;
}
)";

CUfunction load_increment(CUmodule& module) {
  CUfunction kernel = nullptr;
  CHECK(cuModuleLoadData(&module, kIncrement));
  CHECK(cuModuleGetFunction(&kernel, module, "increment"));
  return kernel;
}

/// More tensors than the budget holds, so that whoever wants them all cannot have them.
std::vector<CUdeviceptr> make_too_many(CUstream stream) {
  std::vector<CUdeviceptr> tensors;
  for (unsigned i = 0; i < 8; ++i) tensors.push_back(make_tensor(16 * kGrain, i, stream));
  return tensors;
}

CUresult launch(CUfunction kernel, CUstream stream, void** parameters, void** extra) {
  return cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, parameters, extra);
}

void launches_without_parameters() {
  const CUstream stream = make_stream();
  CUmodule module = nullptr;
  const CUfunction kernel = load_increment(module);
  const auto tensors = make_too_many(stream);
  void* nothing[] = {CU_LAUNCH_PARAM_END};
  CUdeviceptr address = tensors[3] + 4;
  void* parameters[] = {&address};
  ANSWER(launch(kernel, stream, nullptr, nullptr));
  ANSWER(launch(kernel, stream, nullptr, nothing));
  ANSWER(launch(nullptr, stream, parameters, nullptr));
  ANSWER(launch(kernel, stream, parameters, nullptr));
  unsigned words[3] = {};
  CHECK(cuMemcpyDtoHAsync(words, tensors[3], sizeof words, stream));
  CHECK(cuStreamSynchronize(stream));
  std::printf("%u %u %u\n", words[0], words[1], words[2]);
}

/// Each call with a stream that is gone is refused, and leaves no trace.
void a_stream_that_is_gone() {
  const CUstream stream = make_stream(), gone = make_stream();
  auto tensors = make_too_many(stream);
  CHECK(cuStreamDestroy(gone));
  ANSWER(cuStreamDestroy(gone));
  ANSWER(cuStreamDestroy(nullptr));
  ANSWER(cuMemsetD32Async(tensors[7], 100, 1, gone));
  ANSWER(cuMemFreeAsync(tensors[6], gone));
  CUdeviceptr refused = 0;
  ANSWER(cuMemAllocAsync(&refused, 16 * kGrain, gone));
  ANSWER(cuMemAllocAsync(&refused, 16, gone));
  tensors.push_back(make_tensor(16 * kGrain, 8, nullptr));
  for (unsigned i = 0; i < tensors.size(); ++i) std::printf("%u %d\n", i, holds(tensors[i], 16 * kGrain, i, nullptr));
  for (const CUdeviceptr tensor : tensors) ANSWER(cuMemFree(tensor));
}

void code_loaded_again_and_again() {
  const CUstream stream = make_stream();
  for (unsigned i = 0; i < 100; ++i) {
    CUmodule module = nullptr;
    const CUfunction kernel = load_increment(module);
    CUdeviceptr tensor = make_tensor(40 * kGrain, i, stream);
    void* parameters[] = {&tensor};
    CHECK(launch(kernel, stream, parameters, nullptr));
    if (!holds(tensor, 4, i + 1, stream)) std::printf("wrong in round %u\n", i);
    CHECK(cuMemFreeAsync(tensor, stream));
    CHECK(cuModuleUnload(module));
  }
}

void contexts_one_after_another() {
  for (unsigned i = 0; i < 8; ++i) {
    const CUstream stream = make_stream();
    const auto tensors = make_too_many(stream);
    std::printf("%u %d\n", i, holds(tensors[i], 16 * kGrain, i, stream));
    if (i % 2 == 0) {
      CHECK(cuDevicePrimaryCtxReset(0));
    } else {
      CHECK(cuDevicePrimaryCtxRelease(0));
    }
    use_primary_context();
  }
}

void plain_memory_lost_with_contexts() {
  CUdeviceptr lost = 0;
  for (int i = 0; i < 4; ++i) {
    ANSWER(cuMemAlloc(&lost, 40 * kGrain));
    CHECK(cuDevicePrimaryCtxReset(0));
    use_primary_context();
  }
}

/// The primary context is not in use: neither the end of another context nor its own change the one that is.
void another_context_destroyed() {
  CUcontext other = nullptr, used = nullptr;
  CHECK(cuDevicePrimaryCtxRelease(0));
  CHECK(cuCtxCreate(&other, nullptr, 0, 0));
  CHECK(cuCtxCreate(&used, nullptr, 0, 0));
  const CUstream stream = make_stream();
  const auto tensors = make_too_many(stream);
  CHECK(cuCtxDestroy(other));
  CUcontext primary = nullptr;
  CHECK(cuDevicePrimaryCtxRetain(&primary, 0));
  CHECK(cuDevicePrimaryCtxRelease(0));
  for (unsigned i = 0; i < 8; ++i) std::printf("%u %d\n", i, holds(tensors[i], 16 * kGrain, i, stream));
  for (const CUdeviceptr tensor : tensors) ANSWER(cuMemFreeAsync(tensor, stream));
  CHECK(cuCtxDestroy(used));
  use_primary_context();
  const CUstream last = make_stream();
  std::printf("again %d\n", holds(make_tensor(kGrain, 5, last), kGrain, 5, last));
}

/// The driver pads each row to 512 bytes.
void narrow_rows() {
  const CUstream stream = make_stream();
  const auto tensors = make_too_many(stream);
  CUdeviceptr rows = 0;
  std::size_t pitch = 0;
  for (int i = 0; i < 2; ++i) ANSWER(cuMemAllocPitch(&rows, &pitch, 4, 2048, 4));
  for (unsigned i = 0; i < 8; ++i) std::printf("%u %d\n", i, holds(tensors[i], 16 * kGrain, i, stream));
  ANSWER(cuMemFree(rows));
}

/// None has begun, and none can on the simulated device.
void captures_that_never_began() {
  const CUstream stream = make_stream();
  CUgraph graph = nullptr;
  CHECK(cuMemFreeAsync(make_tensor(kGrain, 1, stream), stream));
  for (int i = 0; i < 3; ++i) ANSWER(cuStreamEndCapture(stream, &graph));
  CHECK(cuMemFreeAsync(make_tensor(kGrain, 1, stream), stream));
}

CUdeviceptr left_to_exit = 0;
CUmodule module_left_to_exit = nullptr;

/// As frameworks do: what is left is given back by exit handlers, when the thread's own objects are gone.
void exit_handlers_that_free() {
  left_to_exit = make_tensor(kGrain, 1, make_stream());
  load_increment(module_left_to_exit);
  std::atexit([] {
    ANSWER(cuMemFreeAsync(left_to_exit, nullptr));
    ANSWER(cuModuleUnload(module_left_to_exit));
    ANSWER(cuDevicePrimaryCtxRelease(0));
  });
}

// acts end here

struct Act {
  std::string_view name;
  void (*run)();
};
constexpr Act kActs[] = {
    {"small_block_freed_twice", small_block_freed_twice},
    {"sizes_beyond_every_address", sizes_beyond_every_address},
    {"blocks_of_more_than_a_granule", blocks_of_more_than_a_granule},
    {"null_arguments", null_arguments},
    {"launches_without_parameters", launches_without_parameters},
    {"a_stream_that_is_gone", a_stream_that_is_gone},
    {"code_loaded_again_and_again", code_loaded_again_and_again},
    {"contexts_one_after_another", contexts_one_after_another},
    {"plain_memory_lost_with_contexts", plain_memory_lost_with_contexts},
    {"another_context_destroyed", another_context_destroyed},
    {"narrow_rows", narrow_rows},
    {"captures_that_never_began", captures_that_never_began},
    {"exit_handlers_that_free", exit_handlers_that_free},
};

}  // namespace

int main(int argc, char** argv) {
  CHECK(cuInit(0));
  if (argc != 2) return 2;
  const auto act = std::ranges::find(kActs, std::string_view(argv[1]), &Act::name);
  if (act == std::end(kActs)) return 2;
  use_primary_context();
  act->run();
  return 0;
}
