// Stands where tests/simgpu/ptx is not part of the build: refuses all code.

#include "tests/simgpu/kernel.h"

namespace simgpu {

tl::expected<std::unique_ptr<Module>, LoadError> load_module(const void*, GlobalMemory&, const LoaderOptions&) {
  return tl::unexpected(LoadError{LoadError::Kind::compiler, "this build of the simulated device has no PTX executor"});
}

void register_native(std::uint64_t, std::string_view, NativeRun) {}
NativeRun find_native(std::uint64_t, std::string_view) noexcept {
  return nullptr;
}

}  // namespace simgpu
