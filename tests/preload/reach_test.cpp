// Runs with the probe library preloaded and the fake driver as the real one: whichever way a program finds a function,
// the hook is told exactly once and the driver is called exactly once, with the caller's arguments.

#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <string>

#include "interpose/rows.h"
#include "tests/preload/fake_driver.h"

// As cudaProfiler.h, which not every toolkit has, declares them.
extern "C" {
CUresult cuProfilerInitialize(const char*, const char*, int);
CUresult cuProfilerStart();
CUresult cuProfilerStop();
}

namespace tensorpager {
namespace {

void* our_handle() {
  static void* const handle = ::dlopen("libcuda.so.1", RTLD_NOW);
  return handle;
}
void* fake_handle() {
  static void* const handle = ::dlopen(std::getenv("TENSORPAGER_DRIVER"), RTLD_NOW);
  return handle;
}
void* ours(std::string_view name) {
  return ::dlsym(our_handle(), name.data());
}
void* real(std::string_view name) {
  return ::dlsym(fake_handle(), name.data());
}

unsigned long calls(std::size_t row) {
  static const auto count = reinterpret_cast<FakeCalls>(real("fake_calls"));
  return count(static_cast<unsigned>(row));
}
unsigned long all_calls() {
  unsigned long sum = 0;
  for (std::size_t row = 0; row < kRows.size(); ++row) sum += calls(row);
  return sum;
}
const FakeHookNote& hooks() {
  static const auto get = reinterpret_cast<FakeHooks>(real("fake_hooks"));
  return *get();
}
const FakeLastCall& last_call() {
  return *static_cast<const FakeLastCall*>(real("fake_last"));
}

alignas(64) std::array<char, 1 << 16> scratch{};

/// Arguments that no hook stumbles over: pointers to zeroed memory, and the number 1.
template <class Argument>
Argument sample() {
  if constexpr (std::is_pointer_v<Argument>)
    return reinterpret_cast<Argument>(scratch.data());
  else if constexpr (std::is_class_v<Argument>)
    return Argument{};
  else
    return static_cast<Argument>(1);
}

using Caller = std::function<CUresult(void*)>;
template <class... Arguments>
Caller caller(CUresult (*)(Arguments...)) {
  return [](void* function) {
    scratch.fill(0);
    return reinterpret_cast<CUresult (*)(Arguments...)>(function)(sample<Arguments>()...);
  };
}
const std::array<Caller, kRows.size()>& callers() {
  static const std::array<Caller, kRows.size()> all = {
#define TENSORPAGER_DRIVER_SYMBOL(exported, ...) caller(static_cast<decltype(&exported)>(nullptr)),
#include "runtime/driver_symbols.def"
#undef TENSORPAGER_DRIVER_SYMBOL
  };
  return all;
}

bool hooked(const RowInfo& row) {
  return row.symbol_class != SymbolClass::forwards && row.symbol_class != SymbolClass::resolve;
}

/// Calls a row through `function` and expects one call of the driver's function of that row, and one hook if it has
/// any.
void expect_reached(std::size_t row, void* function) {
  if (kRows[row].symbol_class == SymbolClass::resolve) return;  // their arguments mean something: tested below
  SCOPED_TRACE(kRows[row].exported);
  ASSERT_NE(function, nullptr);
  const auto row_before = calls(row), all_before = all_calls(), hooks_before = hooks().count;
  EXPECT_EQ(callers()[row](function), CUDA_SUCCESS);
  EXPECT_EQ(calls(row), row_before + 1);
  EXPECT_EQ(all_calls(), all_before + 1);
  EXPECT_EQ(hooks().count, hooks_before + (hooked(kRows[row]) ? 1 : 0));
}

// A value for each place in which an argument can travel. Must be the first test: it is also the call that opens the
// driver.
TEST(Forwarding, KeepsAllArgumentsOfTheFirstCallAndOfLaterOnes) {
  using Wide = int (*)(long, long, long, long, long, long, double, double, double, double, double, double, double,
                       double, long, double, long, long, long, double);
  const auto function = reinterpret_cast<Wide>(ours("cuGetErrorName"));
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(function(11, 12, 13, 14, 15, 16, .1, .2, .3, .4, .5, .6, .7, .8, 21, 2.5, 23, 24, 25, 2.75),
              CUDA_SUCCESS);
    const FakeLastCall& seen = last_call();
    for (unsigned i = 0; i < 6; ++i) EXPECT_EQ(seen.integers[i], 11 + i);
    for (unsigned i = 0; i < 8; ++i) EXPECT_EQ(seen.doubles[i], (i + 1) / 10.);
    for (unsigned i : {0u, 2u, 3u, 4u}) EXPECT_EQ(seen.stack[i], 21 + i);
    EXPECT_EQ(std::bit_cast<double>(seen.stack[1]), 2.5);
    EXPECT_EQ(std::bit_cast<double>(seen.stack[5]), 2.75);
  }
}

TEST(Forwarding, KeepsTheArgumentsOfAHookedLaunch) {
  const auto launch = reinterpret_cast<decltype(&::cuLaunchKernel)>(ours("cuLaunchKernel"));
  void* params[1] = {};
  void* extra[1] = {};
  const auto stream = reinterpret_cast<CUstream>(0x77);
  launch(reinterpret_cast<CUfunction>(0x11), 2, 3, 4, 5, 6, 7, 8, stream, params, extra);
  const FakeLastCall& seen = last_call();
  EXPECT_EQ(seen.integers[0], 0x11u);
  for (unsigned i = 1; i < 6; ++i) EXPECT_EQ(static_cast<unsigned>(seen.integers[i]), i + 1);
  EXPECT_EQ(static_cast<unsigned>(seen.stack[0]), 7u);
  EXPECT_EQ(static_cast<unsigned>(seen.stack[1]), 8u);
  EXPECT_EQ(seen.stack[2], 0x77u);
  EXPECT_EQ(seen.stack[3], reinterpret_cast<std::uint64_t>(params));
  EXPECT_EQ(seen.stack[4], reinterpret_cast<std::uint64_t>(extra));
}

TEST(Forwarding, TheTwoBatchCopiesKeepTheirOwnSignatures) {
  std::size_t fail = 0;
  CUdeviceptr to = 0x1234, from = 0;
  const auto old_one = reinterpret_cast<decltype(&::cuMemcpyBatchAsync)>(ours("cuMemcpyBatchAsync"));
  old_one(&to, &from, nullptr, 1, nullptr, nullptr, 0, &fail, reinterpret_cast<CUstream>(0x88));
  EXPECT_EQ(last_call().stack[1], reinterpret_cast<std::uint64_t>(&fail));
  EXPECT_EQ(last_call().stack[2], 0x88u);
  EXPECT_EQ(hooks().address, 0x1234u);
  const auto new_one = reinterpret_cast<decltype(&::cuMemcpyBatchAsync_v2)>(ours("cuMemcpyBatchAsync_v2"));
  new_one(&to, &from, nullptr, 1, nullptr, nullptr, 0, reinterpret_cast<CUstream>(0x99));
  EXPECT_EQ(last_call().stack[1], 0x99u);
}

TEST(Reaching, EveryFunctionByDlsym) {
  for (std::size_t row = 0; row < kRows.size(); ++row) expect_reached(row, ours(kRows[row].exported));
}

TEST(Reaching, EveryVersionByGetProcAddressWithItsFlags) {
  const auto resolve = reinterpret_cast<decltype(&::cuGetProcAddress_v2)>(ours("cuGetProcAddress_v2"));
  for (std::size_t row = 0; row < kRows.size(); ++row) {
    const RowInfo& wanted = kRows[row];
    if (wanted.version == 0) continue;
    SCOPED_TRACE(wanted.exported);
    const cuuint64_t flags =
        wanted.null_stream == NullStream::per_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : 0;
    void* function = nullptr;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    ASSERT_EQ(resolve(wanted.base.data(), &function, wanted.version, flags, &status), CUDA_SUCCESS);
    EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS);
    const bool ours_wanted = wanted.symbol_class != SymbolClass::forwards;
    EXPECT_EQ(function == ours(wanted.exported), ours_wanted);
    expect_reached(row, function);
  }
}

TEST(Reaching, FlagsChooseTheVariant) {
  const auto resolve = reinterpret_cast<decltype(&::cuGetProcAddress_v2)>(ours("cuGetProcAddress_v2"));
  const std::pair<cuuint64_t, const char*> cases[] = {
      {CU_GET_PROC_ADDRESS_DEFAULT, "cuLaunchKernel"},
      {CU_GET_PROC_ADDRESS_LEGACY_STREAM, "cuLaunchKernel"},
      {CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, "cuLaunchKernel_ptsz"}};
  for (const auto& [flags, exported] : cases) {
    void* function = nullptr;
    ASSERT_EQ(resolve("cuLaunchKernel", &function, 13000, flags, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(function, ours(exported));
    callers()[index_of(*find_row(exported))](function);
    EXPECT_STREQ(hooks().hook, "on_launch");
  }
}

TEST(Reaching, WhatNullStreamMeansIsTold) {
  const auto free_of = [](const char* name) { return reinterpret_cast<decltype(&::cuLaunchKernel)>(ours(name)); };
  free_of("cuLaunchKernel")(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
  EXPECT_EQ(hooks().address, 1u);
  free_of("cuLaunchKernel_ptsz")(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
  EXPECT_EQ(hooks().address, 2u);
}

// The way of libcudart: an empty name first, then the resolver by its own name at 11030 and 12000, and the answer for
// the rest.
TEST(Resolver, AnswersForItselfAtBothVersions) {
  const auto resolve = reinterpret_cast<decltype(&::cuGetProcAddress_v2)>(ours("cuGetProcAddress_v2"));
  void* function = scratch.data();
  EXPECT_EQ(resolve("", &function, 0, 0, nullptr), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(function, nullptr);
  ASSERT_EQ(resolve("cuGetProcAddress", &function, 11030, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(function, ours("cuGetProcAddress"));
  void* launch = nullptr;
  ASSERT_EQ(reinterpret_cast<decltype(&::cuGetProcAddress)>(function)("cuLaunchKernel", &launch, 4000, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(launch, ours("cuLaunchKernel"));
  ASSERT_EQ(resolve("cuGetProcAddress", &function, 12000, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(function, ours("cuGetProcAddress_v2"));
}

// A newer driver may have a variant with another signature: its own function is the only right answer.
TEST(Resolver, ALaterVersionThanTheTablesIsExchangedOnlyWhereItIsKnown) {
  const auto resolve = reinterpret_cast<decltype(&::cuGetProcAddress_v2)>(ours("cuGetProcAddress_v2"));
  void* function = nullptr;
  ASSERT_EQ(resolve("cuLaunchKernel", &function, CUDA_VERSION + 1000, 0, nullptr), CUDA_SUCCESS);
  const bool known = std::getenv("FAKE_CUDA_OTHER_ADDRESSES") == nullptr;
  EXPECT_EQ(function == ours("cuLaunchKernel"), known);
  ASSERT_EQ(resolve("cuGetProcAddress", &function, CUDA_VERSION + 1000, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(function, ours("cuGetProcAddress_v2"));
}

TEST(Resolver, UnknownNamesStayUnknown) {
  const auto resolve = reinterpret_cast<decltype(&::cuGetProcAddress_v2)>(ours("cuGetProcAddress_v2"));
  void* function = nullptr;
  EXPECT_EQ(resolve("cuNoSuchThing", &function, 13000, 0, nullptr), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(function, nullptr);
}

TEST(Resolver, ExportTablesAreForwardedUntouched) {
  const std::size_t row = index_of(Row::cuGetExportTable);
  ASSERT_EQ(kRows[row].symbol_class, SymbolClass::forwards);
  expect_reached(row, ours("cuGetExportTable"));
}

}  // namespace
}  // namespace tensorpager
