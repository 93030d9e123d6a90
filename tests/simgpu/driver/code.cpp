#include "tests/simgpu/driver/code.h"

#include <algorithm>
#include <cstdio>

#include "tests/simgpu/driver/device_attributes.h"

namespace simgpu {
namespace {

thread_local std::string t_last_error;

CUresult result_of(LoadError::Kind kind) {
  switch (kind) {
    case LoadError::Kind::invalid_image:
      return CUDA_ERROR_INVALID_IMAGE;
    case LoadError::Kind::invalid_ptx:
      return CUDA_ERROR_INVALID_PTX;
    case LoadError::Kind::no_binary:
      return CUDA_ERROR_NO_BINARY_FOR_GPU;
    case LoadError::Kind::out_of_memory:
      return CUDA_ERROR_OUT_OF_MEMORY;
    case LoadError::Kind::compiler:
      return CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
  }
  return CUDA_ERROR_UNKNOWN;
}

CUresult refuse(const LoadError& error) {
  t_last_error = error.message;
  std::fprintf(stderr, "simgpu: code refused: %s\n", error.message.c_str());
  return result_of(error.kind);
}

// Globals are plain allocations of no context: they go with the module.
class Globals : public GlobalMemory {
 public:
  explicit Globals(Device& device) : device_(device) {}
  std::uint64_t allocate(std::uint64_t bytes, std::uint64_t alignment) override {
    if (alignment > kBlockAlignment) bytes = std::max(bytes, device_.profile.granularity);
    return device_.allocations.allocate(std::max<std::uint64_t>(bytes, 1), nullptr).value_or(0);
  }
  void release(std::uint64_t address) noexcept override { device_.allocations.remove(address); }

 private:
  Device& device_;
};

// Modules keep a reference to the memory they got at load, so it lives as long as the code.
struct LoadedCode : Code {
  explicit LoadedCode(Device& the_device) : device(the_device), globals(the_device) {}
  ~LoadedCode() {
    module.reset();
    device.capacity.discharge(charged);
    device.statistics.module_bytes.subtract(charged);
  }
  Device& device;
  Globals globals;
};

}  // namespace

tl::expected<std::shared_ptr<Code>, CUresult> load_code(Call& call, const void* image) {
  t_last_error.clear();
  if (!image) return tl::unexpected(CUDA_ERROR_INVALID_VALUE);
  Device& device = call.device();
  if (!device.capacity.charge(device.profile.module_bytes)) return tl::unexpected(CUDA_ERROR_OUT_OF_MEMORY);
  auto code = std::make_shared<LoadedCode>(device);
  code->charged = device.profile.module_bytes;
  device.statistics.module_bytes.add(code->charged);
  auto module = load_module(image, code->globals, device.settings.loader);
  if (!module) return tl::unexpected(refuse(module.error()));
  code->module = std::move(*module);
  call.log("module", fmt::format("{:016x}", code->module->hash()));
  return code;
}

const std::string& last_load_error() noexcept {
  return t_last_error;
}

tl::expected<std::shared_ptr<FunctionObject>, CUresult> make_function(Call& call, const std::shared_ptr<Code>& code,
                                                                      const char* name, CUmodule module) {
  if (!name) return tl::unexpected(CUDA_ERROR_INVALID_VALUE);
  call.log("kernel", name);
  const auto kernel = code->module->kernel(name);
  if (!kernel) return tl::unexpected(refuse(kernel.error()));
  if (!*kernel) return tl::unexpected(CUDA_ERROR_NOT_FOUND);
  return std::make_shared<FunctionObject>(FunctionObject{
      .code = code,
      .kernel = *kernel,
      .native = find_native(code->module->hash(), name),
      .name = name,
      .module = module,
      .max_dynamic_shared = kSharedBytesPerBlock - static_cast<int>((*kernel)->info().static_shared_bytes)});
}

CUresult find_global(const Code& code, const char* name, CUdeviceptr* address, size_t* bytes) {
  if (!name) return CUDA_ERROR_INVALID_VALUE;
  for (const Global& global : code.module->globals()) {
    if (global.name != name) continue;
    if (address) *address = global.address;
    if (bytes) *bytes = global.bytes;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}

std::shared_ptr<FunctionObject> launchable(Driver& driver, const void* handle) {
  if (auto function = driver.functions.find(handle)) return function;
  const auto kernel = driver.kernels.find(handle);
  return kernel ? kernel->function : nullptr;
}

}  // namespace simgpu
