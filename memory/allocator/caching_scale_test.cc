// Many blocks, many threads, few mappings: on a device without memory behind it.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "base/error.h"
#include "memory/allocator/caching_allocator.h"
#include "memory/allocator/testing/unbacked_device.h"

namespace tidemark::memory {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

TEST(CachingScale, AMillionLiveBlocksOfEightThreads) {
  constexpr size_t kThreads = 8, kBlocks = 125'000;
  UnbackedDevice device(int64_t{64} << 30);
  PagePool pool(device);
  CachingAllocator allocator(pool);
  std::vector<std::vector<std::byte*>> held(kThreads);
  const auto for_threads = [&](auto work) {
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kThreads; ++t) threads.emplace_back([&, t] { work(t); });
    for (std::thread& thread : threads) thread.join();
  };
  for_threads([&](size_t t) {
    std::mt19937 random(static_cast<uint32_t>(t));
    for (size_t i = 0; i < kBlocks; ++i) {
      const bool large = i % 1000 == 0;
      const int64_t bytes = 1 + static_cast<int64_t>(random() % (large ? 5'000'000 : 3000));
      held[t].push_back(allocator.allocate({bytes, static_cast<Category>(t)}));
    }
  });
  EXPECT_EQ(allocator.stats().live_blocks, static_cast<int64_t>(kThreads * kBlocks));
  EXPECT_EQ(find_fault(allocator.stats(), device.granularity_bytes()), "");
  EXPECT_EQ(allocator.find_fault(), "");
  std::vector<std::byte*> all;
  for (const auto& blocks : held) all.insert(all.end(), blocks.begin(), blocks.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::unique(all.begin(), all.end()), all.end()) << "one address was given twice";
  // Each thread gives back what another one took.
  for_threads([&](size_t t) {
    for (std::byte* block : held[(t + 1) % kThreads]) allocator.deallocate(block);
  });
  const AllocatorStats stats = allocator.stats();
  EXPECT_EQ(stats.allocated_bytes, 0);
  EXPECT_EQ(stats.cached_bytes, stats.reserved_bytes);
  EXPECT_EQ(allocator.find_fault(), "");
}

TEST(CachingScale, ReservedNeverExceedsTheBoundOfLargeBlocks) {
  for (const uint32_t seed : {1u, 2u, 3u, 4u}) {
    UnbackedDevice device(int64_t{256} << 30);
    PagePool pool(device);
    CachingAllocator allocator(pool);
    std::mt19937 random(seed);
    std::vector<std::pair<std::byte*, int64_t>> live;
    int64_t rounded = 0, bound = 0;
    for (int i = 0; i < 5000; ++i) {
      if (live.empty() || static_cast<int>(random() % 10) < 5 + (i / 500) % 2) {
        const int64_t largest = (int64_t{1} << (1 + i / 300 % 8)) * kMiB;
        const int64_t bytes = kMiB + static_cast<int64_t>(random() % static_cast<uint64_t>(largest));
        live.emplace_back(allocator.allocate({bytes}), bytes);
        rounded += device.round_up(bytes);
        bound = std::max(bound, rounded);
      } else {
        std::swap(live[random() % live.size()], live.back());
        allocator.deallocate(live.back().first);
        rounded -= device.round_up(live.back().second);
        live.pop_back();
      }
      ASSERT_EQ(allocator.stats().reserved_peak_bytes, bound) << "seed " << seed << ", step " << i;
    }
    for (const auto& [data, bytes] : live) allocator.deallocate(data);
  }
}

// Each thread keeps within its share, and the shares are all of the device: pages that are on their way from one thread
// to another must not look as if they were gone.
TEST(CachingScale, ThreadsWithinTheirSharesAreNeverRefused) {
  constexpr int64_t kThreads = 4, kSharePages = 12;
  UnbackedDevice device(kThreads * kSharePages * 2 * kMiB);
  PagePool pool(device);
  CachingAllocator allocator(pool);
  std::atomic<int> refused = 0;
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<uint32_t>(t));
      for (int i = 0; i < 10000; ++i) {
        std::vector<std::byte*> held;
        for (int64_t left = kSharePages; left > 0;) {
          const int64_t pages = 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(left));
          left -= pages;
          try {
            held.push_back(allocator.allocate({pages * 2 * kMiB}));
          } catch (const Error&) {
            ++refused;
          }
        }
        for (std::byte* block : held) allocator.deallocate(block);
        if (random() % 4 == 0) allocator.trim(0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(allocator.find_fault(), "");
}

// Free pages are scattered over as many mappings as there may be; unmapped and taken in order, they need only one.
TEST(CachingScale, FewMappingsAreGotTogether) {
  UnbackedDevice device(int64_t{1} << 30, int64_t{2} << 20, 16);
  PagePool pool(device);
  CachingAllocator allocator(pool);
  std::vector<std::byte*> single;
  for (int i = 0; i < 16; ++i) single.push_back(allocator.allocate({2 * kMiB}));
  for (size_t i = 0; i < 16; i += 2) allocator.deallocate(single[i]);
  std::byte* scattered = allocator.allocate({16 * kMiB});
  EXPECT_EQ(device.mappings(), 16);
  EXPECT_THROW(allocator.allocate({4 * kMiB}), Error) << "live blocks use all mappings";
  EXPECT_EQ(allocator.find_fault(), "");
  allocator.deallocate(scattered);
  for (size_t i = 1; i < 16; i += 2) allocator.deallocate(single[i]);
  std::byte* all = allocator.allocate({40 * kMiB});
  EXPECT_LE(device.mappings(), 2);
  EXPECT_EQ(allocator.stats().reserved_bytes, 40 * kMiB);
  EXPECT_EQ(allocator.find_fault(), "");
  allocator.deallocate(all);
}

}  // namespace
}  // namespace tidemark::memory
