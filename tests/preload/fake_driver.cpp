#include "tests/preload/fake_driver.h"

#include <cuda.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "interpose/rows.h"

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))
#define FAKE_HIDDEN extern "C" __attribute__((visibility("hidden")))

extern "C" __attribute__((visibility("hidden"))) void* const fake_other_addresses[];

namespace tensorpager {
namespace {

unsigned long calls[kRows.size()];
FakeHookNote last_hook{};

/// One line a call, for tests that compare whole runs.
void log_call(Row row) {
  const char* const path = std::getenv("FAKE_CUDA_LOG");
  if (path == nullptr) return;
  const int file = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const std::string line = std::string(info(row).exported) + "\n";
  if (::write(file, line.data(), line.size()) < 0) std::abort();
  ::close(file);
}

CUresult called(Row row) {
  ++calls[index_of(row)];
  log_call(row);
  return CUDA_SUCCESS;
}

/// The newest variant of a name at a version, as the real resolver chooses.
const RowInfo* choose(const char* name, int version, NullStream stream) {
  const RowInfo* best = nullptr;
  for (const RowInfo& row : kRows) {
    const bool fits = row.base == name && row.null_stream == stream && row.version > 0 && row.version <= version;
    if (fits && (best == nullptr || row.version > best->version)) best = &row;
  }
  return best;
}

CUresult resolve(const char* name, void** function, int version, cuuint64_t flags) {
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  const RowInfo* row = per_thread ? choose(name, version, NullStream::per_thread) : nullptr;
  if (row == nullptr) row = choose(name, version, NullStream::legacy);
  *function = nullptr;
  if (row == nullptr) return CUDA_ERROR_NOT_FOUND;
  if (std::getenv("FAKE_CUDA_OTHER_ADDRESSES") != nullptr) {
    *function = fake_other_addresses[row - kRows.data()];
    return CUDA_SUCCESS;
  }
  static void* const self = ::dlopen(std::getenv("TENSORPAGER_DRIVER"), RTLD_NOW | RTLD_NOLOAD);
  *function = ::dlsym(self, row->exported.data());
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace tensorpager

using namespace tensorpager;

FAKE_HIDDEN CUresult fake_called(unsigned row) {
  return called(static_cast<Row>(row));
}

FAKE_HIDDEN CUresult fake_get_proc_address(const char* name, void** function, int version, cuuint64_t flags) {
  called(Row::cuGetProcAddress);
  return resolve(name, function, version, flags);
}

FAKE_HIDDEN CUresult fake_get_proc_address_v2(const char* name, void** function, int version, cuuint64_t flags,
                                              CUdriverProcAddressQueryResult* status) {
  called(Row::cuGetProcAddress_v2);
  const CUresult result = resolve(name, function, version, flags);
  if (status != nullptr)
    *status = result == CUDA_SUCCESS ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return result;
}

FAKE_EXPORT unsigned long fake_calls(unsigned row) {
  return calls[row];
}
FAKE_EXPORT void fake_note_hook(const char* hook, unsigned long address) {
  last_hook = {hook, address, last_hook.count + 1};
}
FAKE_EXPORT const FakeHookNote* fake_hooks() {
  return &last_hook;
}
