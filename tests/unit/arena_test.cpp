#include "runtime/arena.h"

#include <gtest/gtest.h>

#include "tests/unit/recording_driver.h"

namespace tensorpager {
namespace {

constexpr std::size_t kGrain = 2 << 20;

class ArenaTest : public testing::Test {
 protected:
  std::unique_ptr<Arena> reserve(std::size_t granules) { return std::move(*Arena::reserve(granules * kGrain, kGrain)); }
  test::RecordingDriver driver_;
};

TEST_F(ArenaTest, ContainsItsAddressesAndNoOther) {
  const auto arena = reserve(4);
  const CUdeviceptr base = arena->address(0);
  EXPECT_TRUE(arena->contains(base));
  EXPECT_TRUE(arena->contains(base + 4 * kGrain - 1));
  EXPECT_FALSE(arena->contains(base + 4 * kGrain));
  EXPECT_FALSE(arena->contains(base - 1));
  EXPECT_FALSE(arena->contains(0));
  EXPECT_EQ(arena->index(base + kGrain + 5), 1u);
  EXPECT_EQ(arena->granules_of(1), 1u);
  EXPECT_EQ(arena->granules_of(kGrain + 1), 2u);
}

TEST_F(ArenaTest, TriesWithoutAHintWhenTheDriverRefusesIt) {
  driver_.next = CUDA_ERROR_INVALID_VALUE;
  EXPECT_TRUE(Arena::reserve(kGrain, kGrain).has_value());
  EXPECT_EQ(driver_.count("reserve"), 2);
}

TEST_F(ArenaTest, TakesLessWhenAddressesAreScarce) {
  driver_.most_reserved = 3 * kGrain;
  const auto arena = Arena::reserve(16 * kGrain, kGrain);
  ASSERT_TRUE(arena.has_value());
  EXPECT_TRUE((*arena)->contains((*arena)->address(1)));
  EXPECT_FALSE((*arena)->contains((*arena)->address(2)));
  driver_.most_reserved = 0;
  EXPECT_EQ(Arena::reserve(16 * kGrain, kGrain).error(), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(ArenaTest, TheSameStreamGetsItsLastRunAgain) {
  const auto arena = reserve(64);
  const GranuleIndex a = arena->take(3, 1), b = arena->take(3, 1), c = arena->take(3, 2);
  arena->give_back(a, 3, 1);
  arena->give_back(b, 3, 1);
  arena->give_back(c, 3, 2);
  EXPECT_EQ(arena->take(3, 2), c);
  EXPECT_EQ(arena->take(3, 1), b);
  EXPECT_EQ(arena->take(3, 5), a) << "another stream takes what was given back longest ago";
  EXPECT_EQ(arena->take(3, 1), 9u) << "then fresh addresses";
}

TEST_F(ArenaTest, JoinsNeighboursWhenAddressesRunOut) {
  const auto arena = reserve(8);
  const GranuleIndex a = arena->take(3, 1), b = arena->take(3, 1), c = arena->take(2, 1);
  EXPECT_EQ(arena->take(1, 1), kNoGranule);
  arena->give_back(a, 3, 1);
  arena->give_back(c, 2, 1);
  EXPECT_EQ(arena->take(4, 1), kNoGranule) << "3 and 2 granules, not side by side";
  arena->give_back(b, 3, 1);
  EXPECT_EQ(arena->take(7, 1), a);
  EXPECT_EQ(arena->take(1, 1), 7u) << "what was cut off";
  EXPECT_EQ(arena->take(1, 1), kNoGranule);
}

}  // namespace
}  // namespace tensorpager
