// The call log and the statistics: format, determinism, what is counted.

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/simgpu/tests/fixture.h"

namespace simgpu {
namespace {

std::string scratch(const std::string& name) {
  return ::testing::TempDir() + "simgpu_" + name;
}

std::vector<std::vector<std::string>> read_log(const std::string& path) {
  std::vector<std::vector<std::string>> rows;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    rows.emplace_back();
    for (std::string field; std::getline(fields, field, '\t');) rows.back().push_back(field);
  }
  return rows;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Something of everything, asynchronously, on several streams.
void busy_program() {
  const Kernels kernels;
  CUstream a = nullptr, b = nullptr;
  CUevent event = nullptr;
  ASSERT_CU(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
  ASSERT_CU(cuStreamCreate(&b, CU_STREAM_DEFAULT));
  ASSERT_CU(cuEventCreate(&event, 0));
  void* host = nullptr;
  ASSERT_CU(cuMemHostAlloc(&host, kMiB, 0));
  for (int i = 0; i < 10; ++i) {
    CUdeviceptr buffer = 0;
    ASSERT_CU(cuMemAllocAsync(&buffer, kMiB, a));
    ASSERT_CU(kernels.run_fill(buffer, 1, 1000, a));
    ASSERT_CU(cuMemcpyDtoHAsync(host, buffer, kMiB, a));
    ASSERT_CU(cuEventRecord(event, a));
    ASSERT_CU(cuStreamWaitEvent(b, event, 0));
    ASSERT_CU(cuMemsetD8Async(buffer, 1, kMiB, b));
    ASSERT_CU(cuMemFreeAsync(buffer, b));
    while (cuEventQuery(event) == CUDA_ERROR_NOT_READY) {
    }
  }
  ASSERT_CU(cuCtxSynchronize());
}

TEST(LogTest, LinesHaveTheDocumentedForm) {
  const std::string path = scratch("form.tsv");
  start_device({{"SIMGPU_LOG", path}});
  CUstream stream = nullptr;
  ASSERT_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUdeviceptr buffer = 0;
  ASSERT_CU(cuMemAlloc(&buffer, 100));
  char host[100] = {};
  ASSERT_CU(cuMemcpyHtoDAsync(buffer, host, 100, stream));
  EXPECT_EQ(cuStreamSynchronize(reinterpret_cast<CUstream>(host)), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuMemAlloc(&buffer, 0), CUDA_ERROR_INVALID_VALUE);

  using Row = std::vector<std::string>;
  const auto rows = read_log(path);
  ASSERT_EQ(rows.size(), 8u);
  EXPECT_EQ(rows[0], (Row{"1", "0", "0", "cuInit", "0", "flags=0"}));
  EXPECT_EQ(rows[1], (Row{"2", "100", "0", "cuDevicePrimaryCtxRetain", "0"}));
  EXPECT_EQ(rows[2], (Row{"3", "200", "0", "cuCtxSetCurrent", "0"}));
  EXPECT_EQ(rows[3], (Row{"4", "300", "0", "cuStreamCreate", "0", "flags=1", "stream=1"}));
  EXPECT_EQ(rows[4], (Row{"5", "400", "0", "cuMemAlloc_v2", "0", "bytes=100", "address=0x200000000000"}));
  EXPECT_EQ(rows[5], (Row{"6", "1500", "0", "cuMemcpyHtoDAsync_v2", "0", "bytes=100", "to=0x200000000000", "from=host",
                          "stream=1"}));
  EXPECT_EQ(rows[6][4], "400");
  EXPECT_EQ(rows[6][5], "stream=invalid");
  EXPECT_EQ(rows[7], (Row{"8", rows[7][1], "0", "cuMemAlloc_v2", "1", "bytes=0"}));
}

TEST(LogTest, SameProgramAndSeedGiveTheSameLog) {
  std::map<std::string, std::string> by_seed;
  for (const std::string seed : {"0", "1", "2", "3", "4", "5", "6", "7", "8"}) {
    for (const std::string run : {"first", "second"}) {
      const std::string path = scratch(run + ".tsv");
      start_device({{"SIMGPU_LOG", path}, {"SIMGPU_SEED", seed}});
      busy_program();
      const std::string text = text_of(path);
      EXPECT_GT(text.size(), 1000u);
      const auto [known, is_new] = by_seed.emplace(seed, text);
      EXPECT_EQ(known->second, text) << "seed " << seed;
    }
  }
  std::set<std::string> different;
  for (const auto& [seed, text] : by_seed) different.insert(text);
  EXPECT_GT(different.size(), 2u);
}

TEST(LogTest, StatisticsCountWhatWasLogged) {
  const std::string log = scratch("counted.tsv"), path = scratch("stats.json");
  start_device({{"SIMGPU_LOG", log}});
  busy_program();
  ASSERT_EQ(simgpu_write_stats(path.c_str()), 0);
  const auto stats = nlohmann::json::parse(text_of(path));
  EXPECT_EQ(stats["schema"], "simgpu.stats/1");
  EXPECT_EQ(stats["virtual_ns"], simgpu_virtual_ns());
  EXPECT_EQ(stats["high_water_bytes"], simgpu_high_water_bytes());
  EXPECT_EQ(stats["context_bytes"], kContextBytes);
  EXPECT_EQ(stats["module_bytes"], kGranularity);
  EXPECT_EQ(stats["violations"], 0);
  EXPECT_EQ(stats["bytes_d2h"], 10 * kMiB);
  EXPECT_EQ(stats["bytes_h2d"], 0);
  EXPECT_EQ(stats["ops"]["kernel"], 10);
  EXPECT_EQ(stats["ops"]["copy_out"], 10);
  EXPECT_EQ(stats["ops"]["memset"], 10);

  std::map<std::string, int> logged;
  for (const auto& row : read_log(log)) ++logged[row.at(3)];
  EXPECT_EQ(stats["calls"].get<decltype(logged)>(), logged);
}

TEST(LogTest, ViolationsAreInTheStatistics) {
  const std::string path = scratch("violations.json");
  start_device();
  const Kernels kernels;
  ASSERT_CU(kernels.run_fault(0xabc));
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  ASSERT_EQ(simgpu_write_stats(path.c_str()), 0);
  const auto stats = nlohmann::json::parse(text_of(path));
  EXPECT_EQ(stats["violations"], 1);
  ASSERT_EQ(stats["violation_lines"].size(), 1u);
  EXPECT_NE(std::string(stats["violation_lines"][0]).find("0xabc"), std::string::npos);
}

TEST(LogDeathTest, StatisticsAreWrittenAtExit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::string path = scratch("exit.json");
  std::remove(path.c_str());
  EXPECT_EXIT(
      {
        start_device({{"SIMGPU_STATS", path}});
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(nlohmann::json::parse(text_of(path))["calls"]["cuInit"], 1);
}

}  // namespace
}  // namespace simgpu
