#include "runtime/budget.h"

#include <gtest/gtest.h>

namespace tensorpager {
namespace {

constexpr std::size_t kMiB = 1 << 20;

TEST(Budget, ChunksGetWhatTheRestLeaves) {
  Budget budget{.limit = 100 * kMiB, .measured_fixed = 30 * kMiB, .reserve = 10 * kMiB, .granularity = 2 * kMiB};
  EXPECT_EQ(budget.for_chunks(), 60 * kMiB);
  budget.pass_through(3 * kMiB);
  EXPECT_EQ(budget.for_chunks(), 56 * kMiB) << "large ones are rounded to granules";
  budget.pass_through(1);
  budget.pass_through(2);
  EXPECT_EQ(budget.for_chunks(), 54 * kMiB) << "small ones share blocks";
  budget.passed_through_freed(3 * kMiB);
  budget.passed_through_freed(1);
  budget.passed_through_freed(2);
  EXPECT_EQ(budget.for_chunks(), 60 * kMiB);
}

TEST(Budget, NeverGoesBelowNothing) {
  const Budget budget{.limit = kMiB, .measured_fixed = 2 * kMiB, .granularity = kMiB};
  EXPECT_EQ(budget.for_chunks(), 0u);
}

}  // namespace
}  // namespace tensorpager
