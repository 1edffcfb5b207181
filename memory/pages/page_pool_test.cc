#include "memory/pages/page_pool.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/error.h"
#include "device/host_memory.h"

namespace tidemark::memory {
namespace {

class PagePoolTest : public testing::Test {
 protected:
  PagePoolTest() { device_.set_limit_bytes(8 * page_); }

  HostMemory device_;
  const int64_t page_ = device_.granularity_bytes();
  PagePool pool_{device_};
};

TEST_F(PagePoolTest, WhatLiesHereComesBeforeWhatTheDeviceHas) {
  std::vector<PageId> pages(3);
  pool_.take(pages);
  EXPECT_EQ(device_.created_bytes(), 3 * page_);
  pool_.give_back(pages);
  EXPECT_EQ(pool_.cached_bytes(), 3 * page_);
  std::vector<PageId> again(4);
  pool_.take(again);
  EXPECT_EQ(pool_.cached_bytes(), 0);
  EXPECT_EQ(device_.created_bytes(), 4 * page_);
  pool_.give_back(again);
}

TEST_F(PagePoolTest, NeighboursComeTogether) {
  std::vector<PageId> pages(6);
  pool_.take(pages);
  const std::vector<PageId> shuffled = {pages[4], pages[1], pages[5], pages[0], pages[2], pages[3]};
  pool_.give_back(shuffled);
  std::vector<PageId> found;
  pool_.take_cached(10, found);
  ASSERT_EQ(found.size(), 6u);
  for (size_t i = 1; i < found.size(); ++i) EXPECT_EQ(found[i].value, found[i - 1].value + 1);
  pool_.give_back(found);
}

TEST_F(PagePoolTest, RefusalChangesNothing) {
  std::vector<PageId> some(2);
  pool_.take(some);
  pool_.give_back(some);
  std::vector<PageId> many(9);
  EXPECT_THROW(pool_.take(many), Error);
  EXPECT_EQ(pool_.cached_bytes() + device_.limit_bytes() - device_.committed_bytes(), 8 * page_);
  std::vector<PageId> all(8);
  pool_.take(all);
  pool_.give_back(all);
}

TEST_F(PagePoolTest, TrimGivesToTheDevice) {
  std::vector<PageId> pages(5);
  pool_.take(pages);
  pool_.give_back(pages);
  EXPECT_EQ(pool_.trim(2 * page_), 3 * page_);
  EXPECT_EQ(pool_.cached_bytes(), 2 * page_);
  EXPECT_EQ(device_.created_bytes(), 2 * page_);
  EXPECT_EQ(pool_.trim(4 * page_), 0);
}

TEST_F(PagePoolTest, PagesThatLieHereNeverCauseARefusal) {
  std::vector<PageId> pages(6);
  pool_.take(pages);
  pool_.give_back(pages);
  VirtualRange range = device_.reserve(7 * page_);
  range.commit(0, 7 * page_);
  EXPECT_EQ(range.committed_bytes(), 7 * page_);
  EXPECT_EQ(pool_.cached_bytes(), page_) << "the reclaimer gives back what is missing and no more";
}

TEST_F(PagePoolTest, ThreadsThatTakeAndGiveBackNeverExceedTheLimit) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      for (int i = 0; i < 50; ++i) {
        std::vector<PageId> pages(2);
        pool_.take(pages);
        pool_.give_back(pages);
        if (i % 8 == 0) pool_.trim(0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(device_.peak_committed_bytes(), 8 * page_);
  pool_.trim(0);
  EXPECT_EQ(device_.created_bytes(), 0);
}

}  // namespace
}  // namespace tidemark::memory
