#pragma once

#include <memory>

#include "runtime/statistics.h"
#include "tests/contract/job.h"

namespace tensorpager::test {

/// A pager on the simulated device (profile test: 64 KiB granules) with room for `chunks` chunks.
class PagerTest : public testing::Test {
 protected:
  static constexpr std::size_t kGrain = 64 << 10;

  void SetUp() override { sim_ = &SimDriver::open(); }
  void TearDown() override {
    EXPECT_EQ(sim_->simgpu_violations(), 0u);
    if (limit_ > 0) {
      EXPECT_LE(sim_->simgpu_high_water_bytes(), limit_);
    }
  }

  static Settings settings(const DeviceFacts& facts, std::size_t chunks, std::size_t host_bytes) {
    OptionSources sources;
    sources.default_file = "";
    Settings settings = read_settings(sources).settings;
    settings.driver_reserve = 0;
    settings.budget = Amount{facts.used + chunks * facts.granularity, 0};
    settings.host_budget = Amount{host_bytes, 0};
    settings.victim_wait = std::chrono::seconds(2);
    return settings;
  }

  /// On a fresh device. Pagers are never destroyed in the product; here each leaves its records behind.
  Pager& attach(std::size_t chunks, std::size_t host_bytes = 64 << 20) {
    sim_->restart();
    const auto facts = ask_device();
    EXPECT_TRUE(facts.has_value());
    auto pager = Pager::attach(*facts, settings(*facts, chunks, host_bytes));
    EXPECT_TRUE(pager.has_value());
    facts_ = *facts;
    limit_ = facts->used + chunks * facts->granularity;
    return keep(std::move(*pager));
  }

  /// Pagers are never destroyed in the product; here they stay within reach, so that what is lost beside them is seen.
  static Pager& keep(std::unique_ptr<Pager> pager) {
    static std::vector<Pager*>& kept = *new std::vector<Pager*>;
    kept.push_back(pager.release());
    return *kept.back();
  }

  std::size_t used_now() const {
    std::size_t free = 0, total = 0;
    EXPECT_EQ(sim_->cuMemGetInfo_v2(&free, &total), CUDA_SUCCESS);
    return total - free;
  }

  const SimDriver* sim_ = nullptr;
  DeviceFacts facts_;
  std::size_t limit_ = 0;
};

}  // namespace tensorpager::test
