// Blocks between streams, on a simulated device whose work is late and whose lost addresses are noticed.
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "device/sim/sim_memory.h"
#include "device/sim/sim_stream.h"
#include "device/sim/sim_test_name.h"
#include "memory/allocator/caching_allocator.h"

namespace tidemark::memory {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

class StreamReuseTest : public testing::Test {
 protected:
  std::byte* take(int64_t bytes, Stream* stream) { return allocator_.allocate({bytes, Category::activations, stream}); }
  // More work than a few questions after an event let run.
  static void keep_busy(Stream& stream, std::byte* block) {
    for (int i = 0; i < 200; ++i) stream.fill(block, 1, 1);
  }
  void expect_sound() const {
    EXPECT_EQ(find_fault(allocator_.stats(), device_.granularity_bytes()), "");
    EXPECT_EQ(allocator_.find_fault(), "");
  }

  SimMemory device_{sim_test_name("streams"), 32 * kMiB};
  SimQueues queues_{1, &device_.access()};
  std::unique_ptr<Stream> first_ = queues_.make_stream();
  std::unique_ptr<Stream> second_ = queues_.make_stream();
  PagePool pool_{device_};
  CachingAllocator allocator_{pool_};
};

TEST_F(StreamReuseTest, OwnStreamReusesAtOnceWithoutAnEvent) {
  for (const int64_t bytes : {int64_t{5000}, 8 * kMiB}) {
    std::byte* block = take(bytes, first_.get());
    first_->fill(block, 1, bytes);
    const int64_t given = queues_.pending();
    allocator_.deallocate(block);
    EXPECT_EQ(take(bytes, first_.get()), block);
    EXPECT_EQ(queues_.pending(), given) << "an event was recorded, or work was waited for";
    allocator_.deallocate(block);
  }
}

TEST_F(StreamReuseTest, OthersGetNewPagesWhileAStreamIsAtWork) {
  for (const int64_t bytes : {int64_t{5000}, 8 * kMiB}) {
    std::byte* block = take(bytes, first_.get());
    keep_busy(*first_, block);
    allocator_.deallocate(block);
    std::byte* other = take(bytes, second_.get());
    std::byte* own = take(bytes, nullptr);
    EXPECT_NE(other, block);
    EXPECT_NE(own, block);
    allocator_.deallocate(other);
    allocator_.deallocate(own);
    first_->synchronize();
    allocator_.trim(0);
  }
  expect_sound();
}

TEST_F(StreamReuseTest, PendingIsNotCachedUntilTheStreamIsDone) {
  std::byte* block = take(8 * kMiB, first_.get());
  keep_busy(*first_, block);
  allocator_.deallocate(block);
  AllocatorStats stats = allocator_.stats();
  EXPECT_EQ(stats.pending_bytes, 8 * kMiB);
  EXPECT_EQ(stats.cached_bytes, 0);
  EXPECT_EQ(allocator_.trim(0), 0) << "pages went back under a stream's work";
  expect_sound();
  first_->synchronize();
  stats = allocator_.stats();
  EXPECT_EQ(stats.pending_bytes, 0);
  EXPECT_EQ(stats.cached_bytes, 8 * kMiB);
  EXPECT_EQ(allocator_.trim(0), 8 * kMiB);
}

TEST_F(StreamReuseTest, WaitsForStreamsBeforeItRefuses) {
  std::byte* block = take(20 * kMiB, first_.get());
  keep_busy(*first_, block);
  allocator_.deallocate(block);
  std::byte* all = take(32 * kMiB, second_.get());
  EXPECT_EQ(allocator_.stats().retries, 1);
  second_->fill(all, 2, 32 * kMiB);
  second_->synchronize();
  allocator_.deallocate(all);
  EXPECT_THROW(take(32 * kMiB + 1, nullptr), Error);
  expect_sound();
}

TEST_F(StreamReuseTest, OwnPagesAreNotUnmappedUnderQueuedWork) {
  std::byte* one = take(10 * kMiB, first_.get());
  std::byte* gap = take(2 * kMiB, nullptr);
  std::byte* two = take(10 * kMiB, first_.get());
  keep_busy(*first_, one);
  keep_busy(*first_, two);
  allocator_.deallocate(one);
  allocator_.deallocate(two);
  std::byte* large = take(24 * kMiB, first_.get());
  first_->fill(large, 3, 24 * kMiB);
  EXPECT_NO_THROW(first_->synchronize()) << "work touched addresses that had lost their pages";
  EXPECT_EQ(large[24 * kMiB - 1], std::byte{3});
  allocator_.deallocate(large);
  allocator_.deallocate(gap);
}

TEST_F(StreamReuseTest, RecordedUseKeepsABlockFromItsOwnStream) {
  for (const int64_t bytes : {int64_t{5000}, 8 * kMiB}) {
    std::byte* block = take(bytes, first_.get());
    allocator_.record_use(block, *second_);
    keep_busy(*second_, block);
    allocator_.deallocate(block);
    EXPECT_EQ(allocator_.stats().allocated_bytes, 0);
    std::byte* other = take(bytes, first_.get());
    EXPECT_NE(other, block);
    second_->synchronize();
    allocator_.stats();
    EXPECT_EQ(take(bytes, first_.get()), block);
    allocator_.deallocate(other);
    allocator_.deallocate(block);
    expect_sound();
  }
}

// First for the stream that used the block too, then for its own.
TEST_F(StreamReuseTest, WhoNeedsTheBytesWaitsForAllStreamsOfABlock) {
  std::byte* block = take(32 * kMiB, first_.get());
  allocator_.record_use(block, *second_);
  keep_busy(*first_, block);
  keep_busy(*second_, block);
  allocator_.deallocate(block);
  EXPECT_EQ(allocator_.stats().pending_bytes, 32 * kMiB);
  EXPECT_EQ(allocator_.stats().slack_bytes, 0);
  const std::unique_ptr<Stream> third = queues_.make_stream();
  std::byte* all = take(32 * kMiB, third.get());
  allocator_.deallocate(all);
  allocator_.forget(*third);
  expect_sound();
}

TEST_F(StreamReuseTest, ForgottenStreamLeavesItsPagesToAll) {
  std::unique_ptr<Stream> brief = queues_.make_stream();
  std::byte* block = take(8 * kMiB, brief.get());
  brief->fill(block, 1, 8 * kMiB);
  allocator_.deallocate(block);
  allocator_.forget(*brief);
  brief.reset();
  EXPECT_EQ(allocator_.stats().cached_bytes, 8 * kMiB);
  std::byte* all = take(32 * kMiB, first_.get());
  allocator_.deallocate(all);
}

TEST_F(StreamReuseTest, BlocksOfAForgottenStreamCanGoBackLater) {
  std::unique_ptr<Stream> brief = queues_.make_stream();
  std::byte* own = take(8 * kMiB, brief.get());
  std::byte* small = take(5000, brief.get());
  std::byte* used = take(8 * kMiB, first_.get());
  allocator_.record_use(used, *brief);
  allocator_.forget(*brief);
  brief.reset();
  for (std::byte* block : {own, small, used}) allocator_.deallocate(block);
  first_->synchronize();
  std::byte* all = take(32 * kMiB, second_.get());
  allocator_.deallocate(all);
  expect_sound();
}

// Each block is filled with a value by its stream and copied out before it goes back; what was copied shows whether
// somebody else wrote into it.
TEST(StreamReuseProperty, NobodyWritesIntoAnothersBlock) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    SimMemory device(sim_test_name("property"), 24 * kMiB);
    SimQueues queues(seed, &device.access());
    std::vector<std::unique_ptr<Stream>> streams;
    for (int i = 0; i < 3; ++i) streams.push_back(queues.make_stream());
    PagePool pool(device);
    CachingAllocator allocator(pool);
    std::mt19937_64 random(seed);
    std::vector<std::array<std::byte, 2>> seen(150);
    for (size_t i = 0; i < seen.size(); ++i) {
      Stream& stream = *streams[random() % streams.size()];
      const bool small = random() % 2 == 0;
      const int64_t bytes = 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(small ? 300'000 : 9 * kMiB));
      std::byte* block = allocator.allocate({bytes, Category::activations, &stream});
      const uint8_t value = static_cast<uint8_t>(i + 1);
      stream.fill(block, value, bytes);
      Stream& reader = *streams[random() % streams.size()];
      if (&reader != &stream) {
        const std::unique_ptr<Event> written = stream.make_event();
        stream.record(*written);
        reader.wait_for(*written);
        allocator.record_use(block, reader);
        reader.copy(&seen[i][0], block, 1);
        reader.copy(&seen[i][1], block + bytes - 1, 1);
        allocator.deallocate(block);
        written->wait();
      } else {
        stream.copy(&seen[i][0], block, 1);
        stream.copy(&seen[i][1], block + bytes - 1, 1);
        allocator.deallocate(block);
      }
      ASSERT_EQ(find_fault(allocator.stats(), device.granularity_bytes()), "");
      ASSERT_EQ(allocator.find_fault(), "");
    }
    for (const auto& stream : streams) stream->synchronize();
    for (size_t i = 0; i < seen.size(); ++i) {
      ASSERT_EQ(seen[i][0], std::byte(static_cast<uint8_t>(i + 1))) << "block " << i << ", seed " << seed;
      ASSERT_EQ(seen[i][1], std::byte(static_cast<uint8_t>(i + 1))) << "block " << i << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace tidemark::memory
