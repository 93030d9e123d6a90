// cuGetProcAddress by the rules that NVIDIA's runtime relies on, and the exports of the library itself. Linked to no
// driver: this is the road of a runtime, one dlopen and one dlsym.

#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

namespace {

using Resolve = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

class ResolveTest : public ::testing::Test {
 protected:
  void SetUp() override {
    library_ = dlopen(SIMGPU_LIBCUDA, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
    resolve_ = reinterpret_cast<Resolve>(dlsym(library_, "cuGetProcAddress_v2"));
    ASSERT_NE(resolve_, nullptr);
  }
  struct Answer {
    CUresult result;
    CUdriverProcAddressQueryResult status;
    std::string name;  ///< of the symbol found
  };
  Answer ask(const char* symbol, int version, cuuint64_t flags = 0) const {
    void* found = this_address();
    auto status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    const CUresult result = resolve_(symbol, &found, version, flags, &status);
    Dl_info info{};
    if (found) dladdr(found, &info);
    return {result, status, info.dli_sname ? info.dli_sname : ""};
  }
  void* this_address() const { return const_cast<ResolveTest*>(this); }
  void* library_ = nullptr;
  Resolve resolve_ = nullptr;
};

TEST_F(ResolveTest, NewestVersionNotNewerThanAsked) {
  const std::tuple<const char*, int, cuuint64_t, const char*> table[] = {
      {"cuInit", 2000, 0, "cuInit"},
      {"cuGetProcAddress", 11030, 0, "cuGetProcAddress"},
      {"cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2"},
      {"cuMemAlloc", 3020, 0, "cuMemAlloc_v2"},
      {"cuMemAlloc", 13000, 0, "cuMemAlloc_v2"},
      {"cuLaunchKernel", 4000, 0, "cuLaunchKernel"},
      {"cuLaunchKernel", 7000, 2, "cuLaunchKernel_ptsz"},
      {"cuLaunchKernel", 7000, 0, "cuLaunchKernel"},
      {"cuMemcpyHtoD", 7000, 2, "cuMemcpyHtoD_v2_ptds"},
      {"cuMemcpyHtoDAsync", 7000, 2, "cuMemcpyHtoDAsync_v2_ptsz"},
      {"cuMemAllocAsync", 11020, 2, "cuMemAllocAsync_ptsz"},
      {"cuMemAlloc", 3020, 2, "cuMemAlloc_v2"},
      {"cuCtxGetDevice", 2000, 0, "cuCtxGetDevice"},
      {"cuCtxGetDevice", 13000, 0, "cuCtxGetDevice_v2"},
      {"cuCtxSynchronize", 12080, 0, "cuCtxSynchronize"},
      {"cuCtxSynchronize", 13000, 0, "cuCtxSynchronize_v2"},
      {"cuDevicePrimaryCtxRelease", 7000, 0, "cuDevicePrimaryCtxRelease"},
      {"cuDevicePrimaryCtxRelease", 11000, 0, "cuDevicePrimaryCtxRelease_v2"},
      {"cuDeviceGetUuid", 9020, 0, "cuDeviceGetUuid"},
      {"cuDeviceGetUuid", 11040, 0, "cuDeviceGetUuid_v2"},
      {"cuEventElapsedTime", 2000, 0, "cuEventElapsedTime"},
      {"cuEventElapsedTime", 12080, 0, "cuEventElapsedTime_v2"},
      {"cuStreamGetCaptureInfo", 10010, 0, "cuStreamGetCaptureInfo"},
      {"cuStreamGetCaptureInfo", 11030, 0, "cuStreamGetCaptureInfo_v2"},
      {"cuStreamGetCaptureInfo", 12030, 2, "cuStreamGetCaptureInfo_v3_ptsz"},
      {"cuProfilerStart", 4000, 0, "cuProfilerStart"},
  };
  for (const auto& [symbol, version, flags, expected] : table) {
    const Answer answer = ask(symbol, version, flags);
    EXPECT_EQ(answer.name, expected) << symbol << '@' << version << " flags " << flags;
    EXPECT_EQ(answer.result, CUDA_SUCCESS);
    EXPECT_EQ(answer.status, CU_GET_PROC_ADDRESS_SUCCESS);
  }
}

TEST_F(ResolveTest, WhatIsMissingIsNotFoundAndNull) {
  const std::tuple<const char*, int, CUdriverProcAddressQueryResult> table[] = {
      {"", 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND},
      {"cuNoSuchThing", 13000, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND},
      {"cuGLInit", 2000, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND},
      {"cuMemAlloc_v2", 13000, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND},
      {"cuMemAllocAsync", 11010, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT},
      {"cuGraphLaunch", 13000, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND},  // exported, refuses everything
  };
  for (const auto& [symbol, version, status] : table) {
    void* found = this_address();
    CUdriverProcAddressQueryResult said{};
    EXPECT_EQ(resolve_(symbol, &found, version, 0, &said), CUDA_ERROR_NOT_FOUND) << symbol;
    EXPECT_EQ(found, nullptr) << symbol;
    EXPECT_EQ(said, status) << symbol;
  }
  EXPECT_EQ(resolve_("cuInit", nullptr, 13000, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
}

struct Query {
  std::string symbol;
  int version;
  cuuint64_t flags;
};

std::vector<Query> runtime_queries() {
  std::vector<Query> queries;
  std::ifstream file(SIMGPU_QUERIES);
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find('\t'), second = line.find('\t', first + 1);
    queries.push_back({line.substr(0, first), std::stoi(line.substr(first + 1)), std::stoul(line.substr(second + 1))});
  }
  return queries;
}

// All that the runtime of CUDA 13.0 asks, in its order: each answer is of the name asked for, and per thread exactly
// when asked.
TEST_F(ResolveTest, TheRuntimesOwnQuestions) {
  const auto queries = runtime_queries();
  ASSERT_EQ(queries.size(), 440u);
  int found = 0;
  for (const Query& query : queries) {
    const Answer answer = ask(query.symbol.c_str(), query.version, query.flags);
    if (answer.result == CUDA_ERROR_NOT_FOUND) continue;
    ASSERT_EQ(answer.result, CUDA_SUCCESS) << query.symbol;
    ++found;
    EXPECT_TRUE(answer.name.starts_with(query.symbol)) << query.symbol << " -> " << answer.name;
    const std::string rest = answer.name.substr(query.symbol.size());
    EXPECT_TRUE(rest.empty() || rest.starts_with("_v") || rest.starts_with("_pts") || rest.starts_with("_ptds"))
        << answer.name;
    EXPECT_EQ(answer.name.ends_with("_ptsz") || answer.name.ends_with("_ptds"), query.flags == 2) << answer.name;
  }
  EXPECT_GE(found, 190);
}

TEST_F(ResolveTest, EveryNameOfTheStubIsExported) {
  int names = 0;
#define TENSORPAGER_DRIVER_SYMBOL(exported, base, version, stream, class, capture) \
  ++names;                                                                         \
  EXPECT_NE(dlsym(library_, #exported), nullptr) << #exported;
#include "runtime/driver_symbols.def"
#undef TENSORPAGER_DRIVER_SYMBOL
  EXPECT_EQ(names, 637);
}

TEST_F(ResolveTest, UnimplementedNamesRefuse) {
  const auto launch = reinterpret_cast<CUresult (*)(CUgraphExec, CUstream)>(dlsym(library_, "cuGraphLaunch"));
  EXPECT_EQ(launch(nullptr, nullptr), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(ResolveTest, PrivateTablesAreNotFound) {
  const auto tables = reinterpret_cast<CUresult (*)(const void**, const CUuuid*)>(dlsym(library_, "cuGetExportTable"));
  const void* table = this;
  const CUuuid id{};
  EXPECT_EQ(tables(&table, &id), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(table, nullptr);
}

TEST_F(ResolveTest, TheSonameIsTheDrivers) {
  EXPECT_EQ(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), library_);
}

}  // namespace
