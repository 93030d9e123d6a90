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

}  // namespace

bool KernelParameters::scan(CUfunction function, void* const* params, void* const* extra, const Arena& arena,
                            Words& out) {
  if (extra != nullptr) return scan_extra(extra, arena, out);
  const auto known = layout(function);
  if (!known) return false;
  if (params == nullptr) return known->empty();
  for (std::size_t i = 0; i < known->size(); ++i)
    scan_bytes(params[i], (*known)[i].offset, (*known)[i].bytes, arena, out);
  return true;
}

std::shared_ptr<const KernelParameters::Layout> KernelParameters::ask(CUfunction function, bool kernel) const {
  auto found = std::make_shared<Layout>();
  for (std::size_t index = 0;; ++index) {
    Parameter parameter{};
    const CUresult result = kernel ? driver().cuKernelGetParamInfo(reinterpret_cast<CUkernel>(function), index,
                                                                   &parameter.offset, &parameter.bytes)
                                   : driver().cuFuncGetParamInfo(function, index, &parameter.offset, &parameter.bytes);
    if (result == CUDA_ERROR_INVALID_VALUE) return found;  // the index is past the last one
    if (result != CUDA_SUCCESS) return nullptr;
    found->push_back(parameter);
  }
}

std::shared_ptr<const KernelParameters::Layout> KernelParameters::layout(CUfunction function) {
  bool kernel = false;
  {
    const std::shared_lock lock(mutex_);
    const auto entry = layouts_.find(function);
    if (entry != layouts_.end()) return entry->second;
    kernel = kernels_.contains(function);
  }
  auto answer = ask(function, kernel);
  // The handle may have been a kernel's once and a function's now.
  if (kernel && !answer) answer = ask(function, false);
  const std::unique_lock lock(mutex_);
  return layouts_.try_emplace(function, std::move(answer)).first->second;
}

bool KernelParameters::first_launch(CUfunction function) {
  {
    const std::shared_lock lock(mutex_);
    if (launched_.contains(function)) return false;
  }
  const std::unique_lock lock(mutex_);
  return launched_.insert(function).second;
}

void KernelParameters::note_kernels(const CUkernel* kernels, unsigned count) {
  const std::unique_lock lock(mutex_);
  for (unsigned i = 0; i < count; ++i) kernels_.insert(reinterpret_cast<CUfunction>(kernels[i]));
}

void KernelParameters::forget() {
  const std::unique_lock lock(mutex_);
  launched_.clear();
  layouts_.clear();  // what is a kernel stays known: other libraries' handles live on
}

}  // namespace tensorpager
