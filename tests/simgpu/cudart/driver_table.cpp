#include "tests/simgpu/cudart/driver_table.h"

#include <dlfcn.h>

#include "tests/simgpu/cudart/error_state.h"

namespace simgpu::cudart {
namespace {

using GetProcAddress = PFN_cuGetProcAddress_v12000;

DriverTable table;

void* find(GetProcAddress resolve, const char* base, int version, cuuint64_t flags) {
  void* function = nullptr;
  CUdriverProcAddressQueryResult status{};
  return resolve(base, &function, version, flags, &status) == CUDA_SUCCESS ? function : nullptr;
}

/// NVIDIA's order: the empty name, cuInit, then the resolver itself, whose second answer does all the rest.
GetProcAddress find_resolver(PFN_cuInit_v2000& init) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) return nullptr;
  const auto first = reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2"));
  if (first == nullptr) return nullptr;
  find(first, "", 0, 0);
  init = reinterpret_cast<PFN_cuInit_v2000>(find(first, "cuInit", 2000, 0));
  find(first, "cuGetProcAddress", 11030, 0);
  return reinterpret_cast<GetProcAddress>(find(first, "cuGetProcAddress", 12000, 0));
}

void fill_table(GetProcAddress resolve) {
  constexpr cuuint64_t kPerThread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
#define SIMGPU_PLAIN(base, version, type_version) *table.base.slot() = find(resolve, #base, version, 0);
#define SIMGPU_STREAM(base, version, type_version, per_thread_version) \
  *table.legacy.base.slot() = find(resolve, #base, version, 0);        \
  *table.per_thread.base.slot() = find(resolve, #base, per_thread_version, kPerThread);
#include "tests/simgpu/cudart/driver_functions.def"
}

cudaError_t open_driver() {
  PFN_cuInit_v2000 init = nullptr;
  const GetProcAddress resolve = find_resolver(init);
  if (resolve == nullptr || init == nullptr) return cudaErrorInsufficientDriver;
  fill_table(resolve);
  int version = 0;
  if (table.cuDriverGetVersion(&version) != CUDA_SUCCESS || version < CUDA_VERSION / 1000 * 1000) {
    return cudaErrorInsufficientDriver;
  }
  return from_driver(init(0));
}

}  // namespace

cudaError_t load_driver() {
  static const cudaError_t result = open_driver();
  return result;
}

const DriverTable& driver() {
  return table;
}

}  // namespace simgpu::cudart
