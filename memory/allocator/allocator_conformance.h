// What every Allocator must do. To add one, or a decorator:
//
//   INSTANTIATE_TEST_SUITE_P(Limit, AllocatorConformance, testing::Values(AllocatorMaker([] { return ...; })));
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "device/device_memory.h"
#include "memory/allocator/allocator.h"
#include "memory/allocator/allocator_report.h"

namespace tidemark::memory {

// An allocator of at most 64 MiB of a device whose bytes the host can reach, and what it stands on.
struct AllocatorUnderTest {
  static constexpr int64_t kDeviceBytes = int64_t{64} << 20;

  virtual ~AllocatorUnderTest() = default;
  virtual Allocator& allocator() = 0;
  virtual DeviceMemory& device() = 0;
};

using AllocatorMaker = std::function<std::unique_ptr<AllocatorUnderTest>()>;

class AllocatorConformance : public testing::TestWithParam<AllocatorMaker> {
 protected:
  void expect_sound() { EXPECT_EQ(find_fault(allocator_.stats(), device_.granularity_bytes()), ""); }
  std::byte* take(int64_t bytes, Category category = Category::user) { return allocator_.allocate({bytes, category}); }

  std::unique_ptr<AllocatorUnderTest> under_test_ = GetParam()();
  Allocator& allocator_ = under_test_->allocator();
  DeviceMemory& device_ = under_test_->device();
};

TEST_P(AllocatorConformance, BlocksAreAlignedApartAndWritable) {
  std::vector<std::pair<std::byte*, int64_t>> blocks;
  for (const int64_t bytes : {1, 255, 256, 257, 5000, 100'000, 1'500'000, 3'000'000, 7'000'000}) {
    blocks.emplace_back(take(bytes), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(blocks.back().first) % kAllocationAlignment, 0u);
  }
  for (size_t i = 0; i < blocks.size(); ++i) std::memset(blocks[i].first, static_cast<int>(i + 1), blocks[i].second);
  for (size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(blocks[i].first[0], std::byte(i + 1));
    EXPECT_EQ(blocks[i].first[blocks[i].second - 1], std::byte(i + 1));
  }
  expect_sound();
  for (const auto& [data, bytes] : blocks) allocator_.deallocate(data);
  expect_sound();
}

TEST_P(AllocatorConformance, EveryByteHasItsCategory) {
  std::byte* weights = take(4096, Category::weights);
  std::byte* cache = take(3'000'000, Category::kv_cache);
  const AllocatorStats stats = allocator_.stats();
  EXPECT_EQ(stats.allocated_by_category[static_cast<size_t>(Category::weights)], 4096);
  EXPECT_EQ(stats.allocated_by_category[static_cast<size_t>(Category::kv_cache)], 3'000'064);
  EXPECT_EQ(stats.requested_bytes, 3'004'096);
  EXPECT_EQ(stats.live_blocks, 2);
  allocator_.deallocate(weights);
  allocator_.deallocate(cache);
  EXPECT_EQ(allocator_.stats().allocated_bytes, 0);
  EXPECT_EQ(allocator_.stats().live_blocks, 0);
  expect_sound();
}

TEST_P(AllocatorConformance, WhatWentBackIsUsedAgain) {
  allocator_.deallocate(take(AllocatorUnderTest::kDeviceBytes));
  for (const int64_t bytes :
       {int64_t{1} << 20, int64_t{30} << 20, int64_t{17} << 20, AllocatorUnderTest::kDeviceBytes}) {
    allocator_.deallocate(take(bytes));
    EXPECT_EQ(allocator_.stats().reserved_peak_bytes, AllocatorUnderTest::kDeviceBytes);
  }
  expect_sound();
}

TEST_P(AllocatorConformance, RefusalChangesNothingAndRoomIsUsedAfterIt) {
  std::byte* held = take(AllocatorUnderTest::kDeviceBytes / 2);
  const AllocatorStats before = allocator_.stats();
  for (int i = 0; i < 3; ++i) {
    try {
      take(AllocatorUnderTest::kDeviceBytes / 2 + 1);
      FAIL() << "more than the device has";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    }
  }
  EXPECT_EQ(allocator_.stats().allocated_bytes, before.allocated_bytes);
  EXPECT_EQ(allocator_.stats().live_blocks, 1);
  expect_sound();
  std::byte* rest = take(AllocatorUnderTest::kDeviceBytes / 2);
  allocator_.deallocate(rest);
  allocator_.deallocate(held);
  expect_sound();
}

TEST_P(AllocatorConformance, TrimKeepsWhatIsHeldAndSaysWhatItGaveBack) {
  std::byte* held = take(10'000);
  std::memset(held, 9, 10'000);
  allocator_.deallocate(take(int64_t{20} << 20));
  const int64_t committed = device_.committed_bytes();
  EXPECT_EQ(allocator_.trim(int64_t{4} << 20), int64_t{16} << 20);
  EXPECT_EQ(device_.committed_bytes(), committed - (int64_t{16} << 20));
  EXPECT_EQ(allocator_.trim(0), int64_t{4} << 20);
  EXPECT_EQ(allocator_.trim(0), 0);
  EXPECT_EQ(held[9'999], std::byte{9});
  allocator_.deallocate(held);
  expect_sound();
}

TEST_P(AllocatorConformance, PeaksAreReset) {
  allocator_.deallocate(take(int64_t{8} << 20));
  std::byte* held = take(int64_t{2} << 20);
  EXPECT_EQ(allocator_.stats().allocated_peak_bytes, int64_t{8} << 20);
  allocator_.reset_peaks();
  EXPECT_EQ(allocator_.stats().allocated_peak_bytes, int64_t{2} << 20);
  EXPECT_EQ(allocator_.stats().reserved_peak_bytes, allocator_.stats().reserved_bytes);
  allocator_.deallocate(held);
  expect_sound();
}

TEST_P(AllocatorConformance, OwnedBlocksGoBackByThemselves) {
  {
    const Block block(allocator_, {1000, Category::input});
    EXPECT_NE(block.data(), nullptr);
    EXPECT_EQ(allocator_.stats().live_blocks, 1);
  }
  EXPECT_EQ(allocator_.stats().live_blocks, 0);
}

TEST_P(AllocatorConformance, StreamsAreServed) {
  const std::unique_ptr<Stream> first = make_host_stream(), second = make_host_stream();
  for (const int64_t bytes : {int64_t{1000}, int64_t{60} << 20}) {
    std::byte* data = allocator_.allocate({bytes, Category::activations, first.get()});
    allocator_.record_use(data, *second);
    allocator_.deallocate(data);
  }
  std::byte* all = take(AllocatorUnderTest::kDeviceBytes);
  allocator_.deallocate(all);
  expect_sound();
  // Streams must outlive the allocator.
  under_test_.reset();
}

TEST_P(AllocatorConformance, ThreadsShareIt) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 200; ++i) {
        const int64_t bytes = i % 20 == 0 ? (int64_t{4} << 20) : 100 * (1 + (i * 7 + t) % 50);
        const Block block(allocator_, {bytes, Category::activations});
        block.data()[0] = block.data()[bytes - 1] = std::byte(t);
        const Block other(allocator_, {300});
        EXPECT_EQ(block.data()[0], std::byte(t));
        EXPECT_EQ(block.data()[bytes - 1], std::byte(t));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allocator_.stats().live_blocks, 0);
  expect_sound();
}

}  // namespace tidemark::memory
