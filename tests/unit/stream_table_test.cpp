#include "runtime/stream_table.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/unit/recording_driver.h"

namespace tensorpager {
namespace {

using test::RecordingDriver;

class StreamTableTest : public testing::Test {
 protected:
  StreamId stream(CUstream handle, bool null_is_per_thread = false) {
    return table_.find({handle, null_is_per_thread});
  }
  static Points points(std::initializer_list<Point> list) { return Points(list.begin(), list.end()); }

  RecordingDriver driver_;
  StreamTable table_{std::chrono::milliseconds(20)};
  const CUstream handle_a_ = RecordingDriver::handle<CUstream>();
  const CUstream handle_b_ = RecordingDriver::handle<CUstream>();
};

TEST_F(StreamTableTest, AllNamesOfAStreamAreOneStream) {
  EXPECT_EQ(stream(nullptr), stream(CU_STREAM_LEGACY));
  EXPECT_EQ(stream(nullptr, true), stream(CU_STREAM_PER_THREAD));
  EXPECT_NE(stream(nullptr), stream(nullptr, true));
  EXPECT_EQ(stream(handle_a_), stream(handle_a_, true));
  EXPECT_EQ(table_.handle(stream(nullptr)), CU_STREAM_LEGACY);
}

TEST_F(StreamTableTest, PerThreadStreamsAreTheirThreads) {
  const StreamId mine = stream(CU_STREAM_PER_THREAD);
  StreamId other = mine;
  std::thread([&] { other = stream(CU_STREAM_PER_THREAD); }).join();
  EXPECT_NE(mine, other);
}

TEST_F(StreamTableTest, APerThreadStreamRecordsAtEachPublish) {
  table_.publish(stream(CU_STREAM_PER_THREAD));
  EXPECT_EQ(driver_.count("record"), 1) << "no other thread can record it later";
}

TEST_F(StreamTableTest, OneStreamNeedsNoEvent) {
  const StreamId a = stream(handle_a_);
  const Point point = table_.publish(a);
  EXPECT_EQ(table_.order(a, points({point})), CUDA_SUCCESS);
  EXPECT_TRUE(driver_.calls.empty());
}

TEST_F(StreamTableTest, OrdersOnceAndOnlyAgainForLaterPoints) {
  const StreamId a = stream(handle_a_), b = stream(handle_b_);
  const Point first = table_.publish(a);
  EXPECT_EQ(table_.order(b, points({first})), CUDA_SUCCESS);
  EXPECT_EQ(table_.order(b, points({first})), CUDA_SUCCESS);
  ASSERT_EQ(driver_.waits.size(), 1u);
  EXPECT_EQ(driver_.waits[0], std::pair(handle_b_, handle_a_));

  const Point second = table_.publish(a);
  EXPECT_EQ(table_.order(b, points({second})), CUDA_SUCCESS);
  EXPECT_EQ(driver_.waits.size(), 2u);
}

TEST_F(StreamTableTest, ARecordCoversAllThatWasSubmitted) {
  const StreamId a = stream(handle_a_), b = stream(handle_b_);
  const Point first = table_.publish(a);
  const Point second = table_.publish(a);
  EXPECT_EQ(table_.order(b, points({first})), CUDA_SUCCESS);
  EXPECT_EQ(table_.order(b, points({second})), CUDA_SUCCESS);
  EXPECT_EQ(driver_.count("record"), 1);
}

TEST_F(StreamTableTest, AHostWaitMakesPointsComplete) {
  const Point point = table_.publish(stream(handle_a_));
  EXPECT_FALSE(table_.complete(point));
  EXPECT_EQ(table_.wait_host(points({point})), CUDA_SUCCESS);
  EXPECT_TRUE(table_.complete(point));
  EXPECT_EQ(table_.wait_host(points({point})), CUDA_SUCCESS);
  EXPECT_EQ(driver_.count("synchronize"), 1);
}

TEST_F(StreamTableTest, BehindAHostFunctionTheWaitIsBounded) {
  table_.note_host_function(stream(handle_a_));
  const Point point = table_.publish(stream(handle_a_));
  EXPECT_EQ(table_.wait_host(points({point})), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(driver_.count("synchronize"), 0);
  EXPECT_FALSE(table_.complete(point));
  driver_.complete = true;
  EXPECT_EQ(table_.wait_host(points({point})), CUDA_SUCCESS);
}

TEST_F(StreamTableTest, TheJobsOwnWaitIsNeverBounded) {
  table_.note_host_wait();
  const Point point = table_.publish(stream(handle_a_));
  EXPECT_EQ(table_.wait_host_unbounded(points({point})), CUDA_SUCCESS);
  EXPECT_EQ(driver_.count("synchronize"), 1);
}

TEST_F(StreamTableTest, ADestroyedStreamLeavesAnEventBehind) {
  const StreamId a = stream(handle_a_), b = stream(handle_b_);
  const Point point = table_.publish(a);
  EXPECT_EQ(table_.retire(handle_a_), CUDA_SUCCESS);
  const int records = driver_.count("record");
  EXPECT_EQ(table_.order(b, points({point})), CUDA_SUCCESS);
  EXPECT_EQ(driver_.count("record"), records) << "the handle is dead";
  EXPECT_EQ(driver_.waits.size(), 1u);
  EXPECT_NE(stream(handle_a_), a) << "the driver may give the handle to another stream";
}

TEST_F(StreamTableTest, AStreamWhoseEndCannotBeSeenIsNotForgotten) {
  const StreamId a = stream(handle_a_);
  table_.publish(a);
  driver_.next = CUDA_ERROR_OUT_OF_MEMORY;
  EXPECT_EQ(table_.retire(handle_a_), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(stream(handle_a_), a);
  EXPECT_EQ(table_.retire(handle_a_), CUDA_SUCCESS);
}

TEST_F(StreamTableTest, AFailingDriverIsReported) {
  const StreamId a = stream(handle_a_), b = stream(handle_b_);
  const Point point = table_.publish(a);
  driver_.next = CUDA_ERROR_OUT_OF_MEMORY;
  EXPECT_EQ(table_.order(b, points({point})), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(table_.order(b, points({point})), CUDA_SUCCESS) << "and can be tried again";
}

TEST(Points, ALaterPointCoversAnEarlierOne) {
  Points points;
  merge(points, Point{1, 5});
  merge(points, Point{1, 3});
  merge(points, Point{2, 1});
  merge(points, Point{3, 0});
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].sequence, 5u);
}

}  // namespace
}  // namespace tensorpager
