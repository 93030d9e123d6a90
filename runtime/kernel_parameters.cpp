#include "runtime/kernel_parameters.h"

#include <cstring>
#include <mutex>

#include "runtime/driver.h"

namespace tensorpager {
namespace {

constexpr std::size_t kWord = sizeof(CUdeviceptr);

// `offset` is the place of `data` in the parameter buffer, which is aligned.
void scan_bytes(const void* data, std::size_t offset, std::size_t bytes, const Arena& arena, Words& out) {
  const auto* const begin = static_cast<const std::byte*>(data);
  for (std::size_t at = (kWord - offset % kWord) % kWord; at + kWord <= bytes; at += kWord) {
    CUdeviceptr word = 0;
    std::memcpy(&word, begin + at, kWord);
    if (arena.contains(word)) out.push_back(word);
  }
}

// False: it names no buffer.
bool scan_extra(void* const* extra, const Arena& arena, Words& out) {
  const void* buffer = nullptr;
  const std::size_t* bytes = nullptr;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = extra[1];
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) bytes = static_cast<const std::size_t*>(extra[1]);
  }
  if (buffer == nullptr || bytes == nullptr) return false;
  scan_bytes(buffer, 0, *bytes, arena, out);
  return true;
}

// A kernel of a library and a function of a module are asked in two ways.
struct ByFunction {
  CUfunction handle;
  CUresult parameter(std::size_t index, Kernel::Parameter& out) const {
    return driver().cuFuncGetParamInfo(handle, index, &out.offset, &out.bytes);
  }
  CUresult name(const char** out) const { return driver().cuFuncGetName(out, handle); }
};
struct ByKernel {
  CUkernel handle;
  CUresult parameter(std::size_t index, Kernel::Parameter& out) const {
    return driver().cuKernelGetParamInfo(handle, index, &out.offset, &out.bytes);
  }
  CUresult name(const char** out) const { return driver().cuKernelGetName(out, handle); }
};

template <class Handle>
std::optional<std::vector<Kernel::Parameter>> ask_parameters(Handle handle) {
  std::vector<Kernel::Parameter> found;
  for (;;) {
    Kernel::Parameter parameter{};
    const CUresult result = handle.parameter(found.size(), parameter);
    if (result == CUDA_ERROR_INVALID_VALUE) return found;  // the index is past the last one
    if (result != CUDA_SUCCESS) return std::nullopt;
    found.push_back(parameter);
  }
}

template <class Handle>
Kernel ask(Handle handle) {
  const char* name = nullptr;
  if (handle.name(&name) != CUDA_SUCCESS || name == nullptr) name = "?";
  return {name, ask_parameters(handle)};
}

}  // namespace

bool KernelParameters::scan(const Kernel& kernel, void* const* params, void* const* extra, const Arena& arena,
                            Words& out) {
  if (extra != nullptr && scan_extra(extra, arena, out)) return true;
  // Nothing named: the driver refuses the launch, or the parameters were set before (cuParamSetv).
  if (params == nullptr) return true;
  if (!kernel.parameters) return false;
  const auto& layout = *kernel.parameters;
  for (std::size_t i = 0; i < layout.size(); ++i) {
    scan_bytes(params[i], layout[i].offset, layout[i].bytes, arena, out);
  }
  return true;
}

KernelParameters::Found KernelParameters::find(CUfunction function) {
  bool library_kernel = false;
  {
    const std::shared_lock lock(mutex_);
    const auto entry = known_.find(function);
    if (entry != known_.end()) return {entry->second, false};
    library_kernel = kernels_.contains(function);
  }
  Kernel kernel;
  if (library_kernel) kernel = ask(ByKernel{reinterpret_cast<CUkernel>(function)});
  // The handle may have been a kernel's once and a function's now.
  if (!kernel.parameters) kernel = ask(ByFunction{function});
  auto answer = std::make_shared<const Kernel>(std::move(kernel));
  const std::unique_lock lock(mutex_);
  return {known_.try_emplace(function, std::move(answer)).first->second, true};
}

void KernelParameters::note_kernels(const CUkernel* kernels, unsigned count) {
  const std::unique_lock lock(mutex_);
  for (unsigned i = 0; i < count; ++i) kernels_.insert(reinterpret_cast<CUfunction>(kernels[i]));
}

void KernelParameters::forget() {
  const std::unique_lock lock(mutex_);
  known_.clear();  // what is a library's kernel stays known: other libraries' handles live on
}

}  // namespace tensorpager
