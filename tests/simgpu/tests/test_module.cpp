// Stands for the PTX executor in the tests of the device: kernels in C++ whose costs are known. An image is the text
// kTestImage.

#include "tests/simgpu/tests/test_module.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace simgpu {
namespace {

using Run = tl::expected<LaunchCost, LaunchFault> (*)(const std::byte* parameters);

template <class Value>
Value read(const std::byte* parameters, std::size_t offset) {
  Value value;
  std::memcpy(&value, parameters + offset, sizeof(Value));
  return value;
}

std::uint32_t* words(std::uint64_t address) {
  return reinterpret_cast<std::uint32_t*>(host_alias(address));
}

// fill(u64 to, u32 value, u32 count)
tl::expected<LaunchCost, LaunchFault> fill(const std::byte* p) {
  const auto count = read<std::uint32_t>(p, 12);
  std::fill_n(words(read<std::uint64_t>(p, 0)), count, read<std::uint32_t>(p, 8));
  return LaunchCost{0, 4ull * count};
}

// copy(u64 to, u64 from, u32 count)
tl::expected<LaunchCost, LaunchFault> copy(const std::byte* p) {
  const auto count = read<std::uint32_t>(p, 16);
  std::copy_n(words(read<std::uint64_t>(p, 8)), count, words(read<std::uint64_t>(p, 0)));
  return LaunchCost{0, 8ull * count};
}

// spend(u64 work)
tl::expected<LaunchCost, LaunchFault> spend(const std::byte* p) {
  return LaunchCost{read<std::uint64_t>(p, 0), 0};
}

// fault(u64 address)
tl::expected<LaunchCost, LaunchFault> fault(const std::byte* p) {
  return tl::unexpected(LaunchFault{LaunchFault::Kind::illegal_address, read<std::uint64_t>(p, 0), "asked to"});
}

class TestKernel : public Kernel {
 public:
  TestKernel(std::string name, std::vector<Parameter> parameters, Run body) : run_(body) {
    info_.name = std::move(name);
    info_.parameter_bytes = parameters.back().offset + parameters.back().bytes;
    info_.parameters = std::move(parameters);
  }
  const KernelInfo& info() const noexcept override { return info_; }
  tl::expected<LaunchCost, LaunchFault> run(const LaunchShape&, std::span<const std::byte> parameters) override {
    return run_(parameters.data());
  }

 private:
  KernelInfo info_;
  Run run_;
};

class TestModule : public Module {
 public:
  explicit TestModule(GlobalMemory& memory)
      : memory_(memory),
        kernels_{{"fill", {{0, 8}, {8, 4}, {12, 4}}, fill},
                 {"copy", {{0, 8}, {8, 8}, {16, 4}}, copy},
                 {"spend", {{0, 8}}, spend},
                 {"fault", {{0, 8}}, fault}},
        globals_{{"counter", memory.allocate(4, 4), 4}} {}
  ~TestModule() override { memory_.release(globals_[0].address); }
  std::uint64_t hash() const noexcept override { return 0x7e57; }
  std::vector<std::string> kernel_names() const override { return {"fill", "copy", "spend", "fault"}; }
  tl::expected<Kernel*, LoadError> kernel(std::string_view name) override {
    const auto found =
        std::find_if(kernels_.begin(), kernels_.end(), [&](const auto& k) { return k.info().name == name; });
    return found == kernels_.end() ? nullptr : &*found;
  }
  std::span<const Global> globals() const noexcept override { return globals_; }

 private:
  GlobalMemory& memory_;
  std::vector<TestKernel> kernels_;
  std::vector<Global> globals_;
};

std::map<std::string, NativeRun, std::less<>>& natives() {
  static auto& map = *new std::map<std::string, NativeRun, std::less<>>;
  return map;
}

}  // namespace

tl::expected<std::unique_ptr<Module>, LoadError> load_module(const void* image, GlobalMemory& memory,
                                                             const LoaderOptions&) {
  if (std::strcmp(static_cast<const char*>(image), kTestImage) != 0) {
    return tl::unexpected(LoadError{LoadError::Kind::invalid_ptx, "not the test image"});
  }
  return std::make_unique<TestModule>(memory);
}

void register_native(std::uint64_t, std::string_view name, NativeRun run) {
  natives()[std::string(name)] = run;
}

NativeRun find_native(std::uint64_t, std::string_view name) noexcept {
  const auto found = natives().find(name);
  return found == natives().end() ? nullptr : found->second;
}

}  // namespace simgpu
