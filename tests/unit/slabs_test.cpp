#include "runtime/slabs.h"

#include <gtest/gtest.h>

namespace tensorpager {
namespace {

constexpr CUdeviceptr kSlab = 0x1000'0000;
constexpr std::size_t kBytes = 4096;

TEST(Slabs, BlocksAreAlignedAndDoNotOverlap) {
  Slabs slabs;
  slabs.add_slab(kSlab, kBytes);
  const auto a = slabs.take(1), b = slabs.take(513), c = slabs.take(512);
  ASSERT_TRUE(a && b && c);
  EXPECT_EQ(a->address, kSlab);
  EXPECT_EQ(b->address, kSlab + 512);
  EXPECT_EQ(c->address, kSlab + 512 + 1024);
}

TEST(Slabs, AFullSlabSaysSo) {
  Slabs slabs;
  EXPECT_FALSE(slabs.take(1).has_value());
  slabs.add_slab(kSlab, kBytes);
  EXPECT_TRUE(slabs.take(kBytes).has_value());
  EXPECT_FALSE(slabs.take(1).has_value());
}

TEST(Slabs, ANewUserGetsThePointsOfTheOldOne) {
  Slabs slabs;
  slabs.add_slab(kSlab, kBytes);
  const auto a = slabs.take(512);
  slabs.take(512);
  ASSERT_TRUE(slabs.give_back(a->address, Points{Point{7, 42}}).has_value());
  const auto again = slabs.take(512);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->address, a->address);
  ASSERT_EQ(again->wait_for.size(), 1u);
  EXPECT_EQ(again->wait_for[0].stream, 7u);
  EXPECT_EQ(again->wait_for[0].sequence, 42u);
}

TEST(Slabs, NeighboursMergeAndKeepAllPoints) {
  Slabs slabs;
  slabs.add_slab(kSlab, kBytes);
  const auto a = slabs.take(512), b = slabs.take(512), c = slabs.take(512), d = slabs.take(512);
  slabs.give_back(a->address, Points{Point{1, 1}});
  slabs.give_back(c->address, Points{Point{2, 2}});
  slabs.give_back(b->address, Points{Point{3, 3}});
  const auto large = slabs.take(1536);
  ASSERT_TRUE(large.has_value());
  EXPECT_EQ(large->address, a->address);
  EXPECT_EQ(large->wait_for.size(), 3u);
  EXPECT_TRUE(slabs.find(d->address).has_value());
}

TEST(Slabs, AnEmptySlabIsNamed) {
  Slabs slabs;
  slabs.add_slab(kSlab, kBytes);
  const auto a = slabs.take(512), b = slabs.take(512);
  EXPECT_EQ(slabs.give_back(b->address, Points{Point{1, 9}}), CUdeviceptr{0});
  EXPECT_EQ(slabs.give_back(a->address, Points{Point{1, 10}}), kSlab);
  const Points ready = slabs.remove_slab(kSlab);
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_EQ(ready[0].sequence, 10u);
  EXPECT_FALSE(slabs.take(1).has_value());
}

TEST(Slabs, WhatIsNotABlockIsRefused) {
  Slabs slabs;
  slabs.add_slab(kSlab, kBytes);
  const auto a = slabs.take(100);
  EXPECT_FALSE(slabs.give_back(a->address + 1, {}).has_value());
  EXPECT_FALSE(slabs.give_back(kSlab + 2048, {}).has_value());
  EXPECT_TRUE(slabs.give_back(a->address, {}).has_value());
  EXPECT_FALSE(slabs.give_back(a->address, {}).has_value()) << "twice";
}

TEST(Slabs, AnAddressInsideABlockFindsIt) {
  Slabs slabs;
  slabs.add_slab(kSlab, kBytes);
  const auto a = slabs.take(700);
  const auto found = slabs.find(a->address + 699);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->address, a->address);
  EXPECT_EQ(found->bytes, 700u);
  EXPECT_FALSE(slabs.find(kSlab + 2048).has_value());
  EXPECT_FALSE(slabs.find(kSlab - 1).has_value());
}

}  // namespace
}  // namespace tensorpager
