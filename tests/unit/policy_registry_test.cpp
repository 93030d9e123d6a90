#include "policies/registry.h"

#include <gtest/gtest.h>

#include <set>

namespace tensorpager {
namespace {

TEST(PolicyRegistry, FindsEveryListedPolicyAndNoOther) {
  std::set<std::string_view> names;
  for (const PolicyInfo& policy : policies()) {
    EXPECT_EQ(find_policy(policy.name), &policy);
    EXPECT_TRUE(names.insert(policy.name).second) << policy.name << " is listed twice";
  }
  EXPECT_TRUE(names.contains("observe"));
  EXPECT_EQ(find_policy("observ"), nullptr);
  EXPECT_EQ(find_policy(""), nullptr);
}

TEST(PolicyRegistry, ObserveMovesNothing) {
  ASSERT_NE(find_policy("observe"), nullptr);
  EXPECT_FALSE(find_policy("observe")->moves);
}

}  // namespace
}  // namespace tensorpager
