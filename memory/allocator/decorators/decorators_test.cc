// What each decorator is about; what all allocators do is in allocator_conformance_test.cc.
#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "device/host_memory.h"
#include "memory/allocator/caching_allocator.h"
#include "memory/allocator/decorators/failure_injection.h"
#include "memory/allocator/decorators/limit.h"
#include "memory/allocator/decorators/retry.h"
#include "memory/allocator/decorators/statistics.h"
#include "memory/allocator/decorators/tracking.h"

namespace tidemark::memory {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

class DecoratorTest : public testing::Test {
 protected:
  DecoratorTest() { device_.set_limit_bytes(32 * kMiB); }

  HostMemory device_;
  PagePool pool_{device_};
  CachingAllocator caching_{pool_};
};

TEST_F(DecoratorTest, FailureInjectionRefusesTheNamedCallOnce) {
  FailureInjection failing(caching_);
  failing.refuse_call(1);
  failing.deallocate(failing.allocate({100}));
  EXPECT_THROW(failing.allocate({100}), Error);
  failing.deallocate(failing.allocate({100}));
  EXPECT_EQ(failing.calls(), 3);
  EXPECT_EQ(failing.refused(), 1);
  EXPECT_EQ(caching_.stats().allocations, 2) << "the upstream saw the refused request";
}

TEST_F(DecoratorTest, LimitCountsTheLargestNumberToo) {
  LimitingAllocator limited(caching_, "user", std::numeric_limits<int64_t>::max());
  EXPECT_THROW(limited.allocate({std::numeric_limits<int64_t>::max()}), Error);
  EXPECT_EQ(limited.held_bytes(), 0);
  limited.set_limit_bytes(1000);
  EXPECT_THROW(limited.allocate({std::numeric_limits<int64_t>::max()}), Error);
  EXPECT_EQ(limited.held_bytes(), 0);
}

TEST_F(DecoratorTest, FailureInjectionRefusesEveryNthAndLargeOnes) {
  FailureInjection failing(caching_);
  failing.refuse_every(3);
  int refused = 0;
  for (int i = 0; i < 9; ++i) {
    try {
      failing.deallocate(failing.allocate({100}));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
      EXPECT_EQ(i % 3, 2);
      ++refused;
    }
  }
  EXPECT_EQ(refused, 3);
  failing.stop();
  failing.refuse_above(1000);
  failing.deallocate(failing.allocate({1000}));
  EXPECT_THROW(failing.allocate({1001}), Error);
}

TEST_F(DecoratorTest, LimitIsOfOneUserAndCountsWhatWentBack) {
  LimitingAllocator first(caching_, "first", 4 * kMiB), second(caching_, "second", 20 * kMiB);
  std::byte* held = first.allocate({3 * kMiB});
  try {
    first.allocate({kMiB + 1});
    FAIL() << "above its limit";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "'first' asks for 1.0 MiB with 3.0 MiB held, its limit is 4.0 MiB; raise its limit or free blocks");
  }
  EXPECT_EQ(first.held_bytes(), 3 * kMiB);
  second.deallocate(second.allocate({16 * kMiB}));
  first.deallocate(held);
  first.deallocate(first.allocate({4 * kMiB}));
  EXPECT_EQ(first.held_bytes(), 0);
}

TEST_F(DecoratorTest, LimitForgetsWhatTheUpstreamRefused) {
  LimitingAllocator limited(caching_, "user", 64 * kMiB);
  EXPECT_THROW(limited.allocate({40 * kMiB}), Error);
  EXPECT_EQ(limited.held_bytes(), 0);
}

TEST_F(DecoratorTest, StatisticsAreThoseOfItsCallersAlone) {
  StatisticsAllocator first(caching_), second(caching_);
  std::byte* a = first.allocate({1000, Category::input});
  std::byte* b = second.allocate({5000, Category::input});
  EXPECT_THROW(first.allocate({64 * kMiB}), Error);
  const StatisticsAllocator::Usage usage = first.usage();
  EXPECT_EQ(usage.callers.allocated_by_category[static_cast<size_t>(Category::input)], 1024);
  EXPECT_EQ(usage.callers.requested_bytes, 1000);
  EXPECT_EQ(usage.callers.allocations, 2);
  EXPECT_EQ(usage.callers.out_of_memory, 1);
  EXPECT_EQ(usage.calls_by_size[9], 1) << "512 to 1023 bytes";
  EXPECT_EQ(usage.calls_by_size[26], 1) << "64 MiB";
  EXPECT_EQ(second.usage().callers.requested_bytes, 5000);
  first.deallocate(a);
  second.deallocate(b);
  EXPECT_EQ(first.usage().callers.requested_peak_bytes, 1000);
  first.reset_peaks();
  EXPECT_EQ(first.usage().callers.requested_peak_bytes, 0);
}

TEST_F(DecoratorTest, TrackingSaysWhoHoldsWhat) {
  TrackingAllocator tracking(caching_);
  std::vector<std::byte*> blocks;
  blocks.push_back(tracking.allocate({100}));
  {
    const MemoryOwner outer("encoder");
    blocks.push_back(tracking.allocate({2000}));
    {
      const MemoryOwner inner("encoder/attention");
      for (int i = 0; i < 3; ++i) blocks.push_back(tracking.allocate({1000}));
    }
    blocks.push_back(tracking.allocate({500}));
    tracking.deallocate(blocks[1]);
  }
  const std::vector<Holding> holdings = tracking.holdings();
  ASSERT_EQ(holdings.size(), 3u);
  EXPECT_EQ(holdings[0].owner, "encoder/attention");
  EXPECT_EQ(holdings[0].blocks, 3);
  EXPECT_EQ(holdings[0].bytes, 3000);
  EXPECT_EQ(holdings[1].owner, "encoder");
  EXPECT_EQ(holdings[1].bytes, 500);
  EXPECT_EQ(holdings[2].owner, "nobody");
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (i != 1) tracking.deallocate(blocks[i]);
  }
  EXPECT_TRUE(tracking.holdings().empty());
}

TEST_F(DecoratorTest, RetryTrimsAsksAndEndsWithTheLastError) {
  FailureInjection failing(caching_);
  int asked = 0;
  RetryOptions options;
  options.attempts = 4;
  options.before_retry = [&](const AllocationRequest& request, int attempt) {
    EXPECT_EQ(request.bytes, 100);
    EXPECT_EQ(attempt, ++asked);
    if (attempt == 2) failing.stop();
    return true;
  };
  RetryingAllocator retrying(failing, options);
  caching_.deallocate(caching_.allocate({8 * kMiB}));
  failing.refuse_every(1);
  retrying.deallocate(retrying.allocate({100}));
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(failing.refused(), 2);
  EXPECT_EQ(caching_.stats().reserved_bytes, device_.granularity_bytes()) << "cached memory did not go back first";
  asked = 0;
  failing.refuse_every(1);
  options.before_retry = nullptr;
  RetryingAllocator stubborn(failing, options);
  const int64_t before = failing.refused();
  EXPECT_THROW(stubborn.allocate({100}), Error);
  EXPECT_EQ(failing.refused() - before, 4);
}

}  // namespace
}  // namespace tidemark::memory
