#include "tests/simgpu/ptx/compile_cache.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/simgpu/ptx/fault_trap.h"

namespace simgpu::ptx {
namespace {

namespace fs = std::filesystem;

class CompileCache : public testing::Test {
 protected:
  CompileCache() {
    char name[] = "/tmp/simgpu-cache-XXXXXX";
    folder = mkdtemp(name);
    options.cache_dir = folder / "nested";
    options.compiler = folder / "compiler";
    write_compiler("");
  }
  ~CompileCache() override { fs::remove_all(folder); }

  /// A compiler that counts its calls, apart from questions for its version, and shows its environment.
  void write_compiler(const std::string& more) {
    std::ofstream(options.compiler) << "#!/bin/sh\n"
                                    << more << "\n[ \"$1\" = --version ] || env >> " << (folder / "calls").string()
                                    << "\nexec g++ \"$@\"\n";
    chmod(options.compiler.c_str(), 0700);
  }

  std::size_t calls() const { return count("PWD="); }
  std::size_t count(const std::string& start) const {
    std::ifstream file(folder / "calls");
    std::size_t found = 0;
    for (std::string line; std::getline(file, line);) found += line.starts_with(start) ? 1 : 0;
    return found;
  }

  static std::string source(int value) {
    return "extern \"C\" __attribute__((visibility(\"default\"))) int answer() { return " + std::to_string(value) +
           "; }";
  }

  static int answer(void* handle) { return reinterpret_cast<int (*)()>(dlsym(handle, "answer"))(); }

  fs::path folder;
  LoaderOptions options;
};

TEST_F(CompileCache, CompilesATextOnce) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(answer(*compile_and_open(source(42), options)), 42);
  EXPECT_EQ(calls(), 1U);
  EXPECT_EQ(answer(*compile_and_open(source(43), options)), 43);
  EXPECT_EQ(calls(), 2U);
}

TEST_F(CompileCache, LeavesNoTemporaryFiles) {
  ASSERT_TRUE(compile_and_open(source(1), options).has_value());
  for (const auto& file : fs::directory_iterator(options.cache_dir))
    EXPECT_FALSE(file.path().filename().string().starts_with("tmp-"));
}

TEST_F(CompileCache, ConcurrentRequestsAllSucceed) {
  std::vector<std::thread> threads;
  std::atomic<int> sum{0};
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { sum += answer(*compile_and_open(source(10), options)); });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(sum, 40);
}

TEST_F(CompileCache, TheCompilerIsNotPreloaded) {
  setenv("LD_PRELOAD", "libm.so.6", 1);
  setenv("LD_LIBRARY_PATH", "/nowhere", 1);
  ASSERT_TRUE(compile_and_open(source(2), options).has_value());
  unsetenv("LD_PRELOAD");
  unsetenv("LD_LIBRARY_PATH");
  EXPECT_EQ(calls(), 1U);
  EXPECT_EQ(count("LD_PRELOAD="), 0U);
  EXPECT_EQ(count("LD_LIBRARY_PATH="), 0U);
}

TEST_F(CompileCache, ErrorsOfTheCompilerAreShown) {
  const auto object = compile_and_open("int f() { return missing; }", options);
  ASSERT_FALSE(object.has_value());
  EXPECT_EQ(object.error().kind, LoadError::Kind::compiler);
  EXPECT_NE(object.error().message.find("missing"), std::string::npos) << object.error().message;
}

std::sig_atomic_t volatile seen_signals = 0;
sigjmp_buf after_fault;

void count_signal(int) {
  seen_signals = seen_signals + 1;
  siglongjmp(after_fault, 1);
}

TEST(FaultTrap, FaultsOutsideKernelsGoToTheHandlerThatWasThere) {
  void* const page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct sigaction handler = {};
  struct sigaction before = {};
  handler.sa_handler = count_signal;
  sigaction(SIGSEGV, &handler, &before);
  const auto touch = [](void* address) { *static_cast<volatile char*>(address) = 1; };
  const auto caught = guard(touch, page, std::chrono::seconds(5));
  ASSERT_TRUE(caught.has_value());
  EXPECT_EQ(caught->host_address, reinterpret_cast<std::uint64_t>(page));
  EXPECT_EQ(seen_signals, 0);
  if (sigsetjmp(after_fault, 1) == 0) touch(page);
  EXPECT_EQ(seen_signals, 1);
  EXPECT_FALSE(guard([](void*) {}, nullptr, std::chrono::seconds(5)).has_value());
  sigaction(SIGSEGV, &before, nullptr);
  munmap(page, 4096);
}

TEST(FaultTrap, TheTimeLimitIsKeptAndDoesNotOutliveItsLaunch) {
  const auto begin = std::chrono::steady_clock::now();
  const auto spin = [](void*) {
    volatile bool running = true;
    while (running) continue;
  };
  const auto caught = guard(spin, nullptr, std::chrono::milliseconds(50));
  ASSERT_TRUE(caught.has_value());
  EXPECT_EQ(caught->kind, LaunchFault::Kind::timeout);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_FALSE(guard([](void*) {}, nullptr, std::chrono::milliseconds(20)).has_value());
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
}

}  // namespace
}  // namespace simgpu::ptx
