#pragma once

// A module from text or a file, and launches of its kernels with arguments as a program would give them. Fails the test
// on any error that the caller did not ask to see.

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/simgpu/ptx/tests/window_memory.h"

namespace simgpu::ptx {

inline LoaderOptions test_options(unsigned workers = 2) {
  LoaderOptions options;
  options.cache_dir = SIMGPU_TEST_CACHE;
  options.compiler = "g++";
  options.workers = workers;
  return options;
}

inline std::string read_test_file(const std::string& name) {
  std::ifstream file(std::string(SIMGPU_TEST_KERNELS) + "/" + name, std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class KernelRunner {
 public:
  explicit KernelRunner(const std::string& image, const LoaderOptions& options = test_options()) {
    auto loaded = load_module(image.c_str(), memory, options);
    if (!loaded) {
      ADD_FAILURE() << loaded.error().message;
    } else {
      module_ = std::move(*loaded);
    }
  }

  Module& module() { return *module_; }

  Kernel& kernel(const std::string& name) {
    auto found = module_->kernel(name);
    if (!found) throw std::runtime_error(found.error().message);
    if (*found == nullptr) throw std::runtime_error("no kernel " + name);
    return **found;
  }

  template <class... Arguments>
  tl::expected<LaunchCost, LaunchFault> try_launch(const std::string& name, const LaunchShape& shape,
                                                   const Arguments&... arguments) {
    Kernel& wanted = kernel(name);
    std::vector<std::byte> buffer(wanted.info().parameter_bytes);
    std::size_t next = 0;
    (pack(wanted, buffer, next, arguments), ...);
    EXPECT_EQ(next, wanted.info().parameters.size()) << name;
    return wanted.run(shape, buffer);
  }

  template <class... Arguments>
  LaunchCost launch(const std::string& name, const LaunchShape& shape, const Arguments&... arguments) {
    const auto cost = try_launch(name, shape, arguments...);
    if (!cost) {
      ADD_FAILURE() << cost.error().detail;
      return {};
    }
    return *cost;
  }

  template <class T>
  std::uint64_t upload(const std::vector<T>& values) {
    return memory.upload(std::span<const T>(values));
  }

  WindowMemory memory;

 private:
  template <class T>
  static void pack(const Kernel& kernel, std::vector<std::byte>& buffer, std::size_t& next, const T& argument) {
    const Parameter& parameter = kernel.info().parameters.at(next++);
    ASSERT_EQ(parameter.bytes, sizeof(T)) << kernel.info().name << " parameter " << next - 1;
    std::memcpy(buffer.data() + parameter.offset, &argument, sizeof(T));
  }

  std::unique_ptr<Module> module_;
};

inline LaunchShape shape(std::uint32_t grid, std::uint32_t block, std::uint32_t dynamic_shared = 0) {
  return {{grid, 1, 1}, {block, 1, 1}, dynamic_shared};
}

}  // namespace simgpu::ptx
