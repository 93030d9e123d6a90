#include <dlfcn.h>
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <future>
#include <map>
#include <mutex>

#include "tests/simgpu/kernel.h"
#include "tests/simgpu/ptx/compile_cache.h"
#include "tests/simgpu/ptx/emit_kernel.h"
#include "tests/simgpu/ptx/fat_binary.h"
#include "tests/simgpu/ptx/launch.h"
#include "tests/simgpu/ptx/parser.h"

namespace simgpu {
namespace {

using ptx::GlobalVariable;
using ptx::TranslatedKernel;

// Modules of up to this many kernels are compiled whole at the first request, in two units side by side; larger ones in
// units of this many, each when first needed.
constexpr std::size_t kKernelsPerUnit = 24;

class CompiledKernel final : public Kernel {
 public:
  CompiledKernel(KernelInfo info, ptx::KernelCode code) : info_(std::move(info)), code_(code) { code_.info = &info_; }

  const KernelInfo& info() const noexcept override { return info_; }

  tl::expected<LaunchCost, LaunchFault> run(const LaunchShape& shape, std::span<const std::byte> parameters) override {
    return ptx::run_launch(code_, shape, parameters);
  }

 private:
  KernelInfo info_;
  ptx::KernelCode code_;
};

class NativeKernel final : public Kernel {
 public:
  NativeKernel(KernelInfo info, NativeRun native) : info_(std::move(info)), run_(native) {}

  const KernelInfo& info() const noexcept override { return info_; }

  tl::expected<LaunchCost, LaunchFault> run(const LaunchShape& shape, std::span<const std::byte> parameters) override {
    return run_(shape, parameters);
  }

 private:
  KernelInfo info_;
  NativeRun run_;
};

/// Some kernels of a module, compiled together.
struct Unit {
  std::vector<std::size_t> kernels;
  std::size_t weight = 0;
  std::string source;
  std::shared_future<tl::expected<void*, LoadError>> object;
};

class CompiledModule final : public Module {
 public:
  CompiledModule(std::uint64_t hash, GlobalMemory& memory, const LoaderOptions& options)
      : hash_(hash), memory_(memory), options_(options) {}

  ~CompiledModule() override {
    for (const std::uint64_t address : addresses_) memory_.release(address);
  }

  std::uint64_t hash() const noexcept override { return hash_; }
  std::span<const Global> globals() const noexcept override { return globals_; }

  std::vector<std::string> kernel_names() const override {
    std::vector<std::string> names;
    for (const TranslatedKernel& kernel : translated_) names.push_back(kernel.layout.info.name);
    return names;
  }

  tl::expected<Kernel*, LoadError> kernel(std::string_view name) override {
    const std::lock_guard lock(mutex_);
    if (const auto found = kernels_.find(name); found != kernels_.end()) return found->second.get();
    const auto index = index_of(name);
    if (index == translated_.size()) return nullptr;
    auto made = make_kernel(index);
    if (!made) return tl::unexpected(made.error());
    return kernels_.emplace(name, std::move(*made)).first->second.get();
  }

  tl::expected<void, LoadError> load(const ptx::ModuleSyntax& syntax) try {
    const auto variables = ptx::lay_out_globals(syntax);
    for (std::size_t i = 0; i < syntax.kernels.size(); ++i) {
      auto translated = ptx::translate_kernel(syntax, variables, syntax.kernels[i], i);
      if (!translated) return tl::unexpected(invalid(translated.error()));
      translated_.push_back(std::move(*translated));
    }
    share_out();
    return place_globals(variables);
  } catch (const ptx::SyntaxError& error) {
    return tl::unexpected(invalid(error));
  }

  static LoadError invalid(const ptx::SyntaxError& error) {
    return {LoadError::Kind::invalid_ptx, fmt::format("PTX line {}: {}", error.line, error.message)};
  }

 private:
  tl::expected<void, LoadError> place_globals(const std::vector<GlobalVariable>& variables) {
    for (const GlobalVariable& variable : variables) {
      const std::uint64_t address = memory_.allocate(std::max<std::uint64_t>(variable.bytes, 1), variable.alignment);
      if (address == 0)
        return tl::unexpected(LoadError{LoadError::Kind::out_of_memory, "no room for the variable " + variable.name});
      addresses_.push_back(address);
      globals_.push_back({variable.name, address, variable.bytes});
    }
    for (std::size_t i = 0; i < variables.size(); ++i) fill(variables[i], addresses_[i]);
    return {};
  }

  void fill(const GlobalVariable& variable, std::uint64_t address) const {
    std::byte* const at = host_alias(address);
    std::memset(at, 0, variable.bytes);
    if (!variable.image.empty()) std::memcpy(at, variable.image.data(), variable.bytes);
    for (const auto& relocation : variable.relocations) {
      const std::uint64_t value = addresses_[relocation.global] + relocation.addend;
      std::memcpy(at + relocation.offset, &value, sizeof value);
    }
  }

  /// The heaviest kernel first, each to the unit that has least.
  void share_out() {
    const std::size_t count = translated_.size();
    units_.resize(count <= kKernelsPerUnit ? std::min<std::size_t>(count, 2)
                                           : (count + kKernelsPerUnit - 1) / kKernelsPerUnit);
    std::vector<std::size_t> order(count);
    for (std::size_t i = 0; i < count; ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [this](auto a, auto b) { return translated_[a].weight > translated_[b].weight; });
    for (const std::size_t kernel : order) {
      Unit& lightest = *std::min_element(units_.begin(), units_.end(),
                                         [](const Unit& a, const Unit& b) { return a.weight < b.weight; });
      lightest.kernels.push_back(kernel);
      lightest.weight += translated_[kernel].weight;
    }
    for (Unit& unit : units_) unit.source = source_of(unit);
  }

  std::string source_of(const Unit& unit) {
    std::string source = ptx::device_preamble() + "namespace simgpu_device {\n";
    for (const std::size_t kernel : unit.kernels) source += std::exchange(translated_[kernel].body, {});
    return source + "}\n";
  }

  void start(Unit& unit) {
    if (unit.object.valid()) return;
    unit.object = std::async(std::launch::async, [source = std::move(unit.source), options = options_] {
                    return ptx::compile_and_open(source, options);
                  }).share();
  }

  std::size_t index_of(std::string_view name) const {
    std::size_t index = 0;
    while (index < translated_.size() && translated_[index].layout.info.name != name) ++index;
    return index;
  }

  tl::expected<std::unique_ptr<Kernel>, LoadError> make_kernel(std::size_t index) {
    const TranslatedKernel& kernel = translated_[index];
    if (const NativeRun run = find_native(hash_, kernel.layout.info.name))
      return std::make_unique<NativeKernel>(kernel.layout.info, run);
    const auto entry = compiled_entry(index);
    if (!entry) return tl::unexpected(entry.error());
    ptx::KernelCode code;
    code.entry = *entry;
    code.globals = addresses_.data();
    code.dynamic_shared_offset = kernel.layout.dynamic_shared_offset;
    code.ordered = kernel.ordered;
    code.workers = options_.workers;
    code.time_limit = options_.time_limit;
    return std::make_unique<CompiledKernel>(kernel.layout.info, code);
  }

  tl::expected<const simgpu_device::KernelEntry*, LoadError> compiled_entry(std::size_t index) {
    const auto holds = [index](const Unit& unit) {
      return std::find(unit.kernels.begin(), unit.kernels.end(), index) != unit.kernels.end();
    };
    Unit& unit = *std::find_if(units_.begin(), units_.end(), holds);
    start(unit);
    if (units_.size() <= 2)
      for (Unit& other : units_) start(other);
    const auto& object = unit.object.get();
    if (!object) return tl::unexpected(object.error());
    const void* const symbol = dlsym(*object, fmt::format("simgpu_kernel_{}", index).c_str());
    if (symbol == nullptr) return tl::unexpected(LoadError{LoadError::Kind::compiler, dlerror()});
    return static_cast<const simgpu_device::KernelEntry*>(symbol);
  }

  std::uint64_t hash_;
  GlobalMemory& memory_;
  LoaderOptions options_;
  std::mutex mutex_;
  std::vector<TranslatedKernel> translated_;
  std::vector<Unit> units_;
  std::vector<std::uint64_t> addresses_;
  std::vector<Global> globals_;
  std::map<std::string, std::unique_ptr<Kernel>, std::less<>> kernels_;
};

}  // namespace

tl::expected<std::unique_ptr<Module>, LoadError> load_module(const void* image, GlobalMemory& memory,
                                                             const LoaderOptions& options) {
  const auto text = ptx::find_ptx(image, options.capability);
  if (!text) return tl::unexpected(text.error());
  const auto syntax = ptx::parse_module(*text);
  if (!syntax) return tl::unexpected(CompiledModule::invalid(syntax.error()));
  auto module = std::make_unique<CompiledModule>(XXH3_64bits(text->data(), text->size()), memory, options);
  if (auto loaded = module->load(*syntax); !loaded) return tl::unexpected(loaded.error());
  return module;
}

}  // namespace simgpu
