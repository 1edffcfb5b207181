#include "device/device_share.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "device/device_memory_conformance.h"
#include "device/host_memory.h"
#include "device/sim/sim_memory.h"
#include "device/sim/sim_test_name.h"

namespace tidemark {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kPage = HostPages::kGranularityBytes;

// A share that owns its device, which must be made before it and outlive it: hence the order of the bases.
struct OwnedHost {
  HostMemory whole;
};
struct ShareOfHost : private OwnedHost, public DeviceShare {
  ShareOfHost() : DeviceShare(whole, "cpu/test", int64_t{1} << 30) {}
};

INSTANTIATE_TEST_SUITE_P(Share, DeviceMemoryConformance,
                         testing::Values(DeviceMemoryMaker([] { return std::make_unique<ShareOfHost>(); })));

TEST(DeviceShare, WhatOtherSharesHoldIsForeign) {
  SimMemory whole(sim_test_name("share"), 32 * kMiB), neighbour(whole.name().substr(4), 0);
  DeviceShare first(whole, "first", 16 * kMiB), second(whole, "second", 16 * kMiB);
  VirtualRange of_first = first.reserve(4 * kMiB), of_second = second.reserve(6 * kMiB);
  VirtualRange of_neighbour = neighbour.reserve(8 * kMiB);
  of_first.commit(0, 4 * kMiB);
  of_second.commit(0, 6 * kMiB);
  of_neighbour.commit(0, 8 * kMiB);
  const DeviceUse use = first.use();
  EXPECT_EQ(use.own_bytes, 4 * kMiB);
  EXPECT_EQ(use.foreign_bytes, 14 * kMiB);
  EXPECT_EQ(first.foreign_bytes(), 14 * kMiB);
  EXPECT_EQ(use.free_bytes, 14 * kMiB);
  EXPECT_EQ(use.total_bytes, use.own_bytes + use.foreign_bytes + use.free_bytes);
}

// Free pages that are kept for later, as a pool keeps them.
class Cache {
 public:
  explicit Cache(DeviceMemory& memory) : memory_(memory) {
    reclaimer_ = memory.add_reclaimer([this](int64_t bytes) { return give_back(bytes); });
  }
  ~Cache() {
    memory_.remove_reclaimer(reclaimer_);
    give_back(bytes());
  }
  void keep(int64_t pages) {
    std::vector<PageId> more(static_cast<size_t>(pages));
    memory_.create_pages(more);
    pages_.insert(pages_.end(), more.begin(), more.end());
  }
  int64_t bytes() const { return static_cast<int64_t>(pages_.size()) * kPage; }

 private:
  int64_t give_back(int64_t bytes) {
    int64_t given = 0;
    for (; given < bytes && !pages_.empty(); given += kPage) {
      memory_.destroy_pages(std::span(pages_).last(1));
      pages_.pop_back();
    }
    return given;
  }

  DeviceMemory& memory_;
  std::vector<PageId> pages_;
  int64_t reclaimer_ = 0;
};

class DeviceShareTest : public testing::Test {
 protected:
  DeviceShareTest() { whole_.set_limit_bytes(16 * kMiB); }
  HostMemory whole_;
  DeviceShare first_{whole_, "cpu/first", 8 * kMiB};
  DeviceShare second_{whole_, "cpu/second", 12 * kMiB};
};

template <class Body>
std::string refusal(Body body) {
  try {
    body();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::out_of_memory);
    return e.what();
  }
  return "accepted";
}

TEST_F(DeviceShareTest, OneHitsItsLimitAndTheOtherDoesNotNotice) {
  VirtualRange range = first_.reserve(16 * kMiB), other = second_.reserve(16 * kMiB);
  range.commit(0, 8 * kMiB);
  EXPECT_EQ(refusal([&] { range.commit(8 * kMiB, 2 * kMiB); }),
            "device 'cpu/first' is asked for 2.0 MiB more with 8.0 MiB committed, limit is 8.0 MiB; raise "
            "memory.budget");
  std::vector<PageId> pages(1);
  EXPECT_NE(refusal([&] { first_.create_pages(pages); }), "accepted");
  other.commit(0, 8 * kMiB);
  EXPECT_EQ(first_.committed_bytes(), 8 * kMiB);
  EXPECT_EQ(second_.committed_bytes(), 8 * kMiB);
  EXPECT_EQ(whole_.committed_bytes(), 16 * kMiB);
  EXPECT_EQ(whole_.measured_bytes(), 16 * kMiB);
  EXPECT_EQ(first_.peak_committed_bytes(), 8 * kMiB);
}

TEST_F(DeviceShareTest, LimitOfTheWholeHoldsForAllTogether) {
  VirtualRange range = first_.reserve(8 * kMiB), other = second_.reserve(12 * kMiB);
  other.commit(0, 12 * kMiB);
  EXPECT_NE(refusal([&] { range.commit(0, 6 * kMiB); }), "accepted");
  EXPECT_EQ(whole_.committed_bytes(), 12 * kMiB);
  EXPECT_EQ(first_.committed_bytes(), 0);
  range.commit(0, 4 * kMiB);
}

TEST_F(DeviceShareTest, IdleSharesCacheGoesToTheOneThatNeedsIt) {
  Cache idle(first_);
  idle.keep(4);
  VirtualRange range = second_.reserve(12 * kMiB);
  range.commit(0, 12 * kMiB);
  EXPECT_EQ(idle.bytes(), 4 * kMiB) << "no more than is missing";
  EXPECT_EQ(first_.committed_bytes(), 4 * kMiB);
  EXPECT_EQ(second_.committed_bytes(), 12 * kMiB);
  VirtualRange of_the_whole = whole_.reserve(4 * kMiB);
  of_the_whole.commit(0, 4 * kMiB);
  EXPECT_EQ(idle.bytes(), 0);
}

TEST_F(DeviceShareTest, OwnCacheIsAskedWhereTheOwnLimitIsInTheWay) {
  Cache own(first_), idle(second_);
  own.keep(4);
  idle.keep(1);
  VirtualRange range = first_.reserve(8 * kMiB);
  range.commit(0, 4 * kMiB);
  EXPECT_EQ(own.bytes(), 4 * kMiB);
  EXPECT_EQ(idle.bytes(), 2 * kMiB) << "others are not asked where that helps nothing";
}

TEST_F(DeviceShareTest, EndOfAShareLeavesNothing) {
  {
    DeviceShare short_lived(whole_, "cpu/short", 4 * kMiB);
    Cache cache(short_lived);
    cache.keep(2);
    EXPECT_EQ(whole_.committed_bytes(), 4 * kMiB);
  }
  EXPECT_EQ(whole_.committed_bytes(), 0);
  VirtualRange range = whole_.reserve(16 * kMiB);
  range.commit(0, 16 * kMiB);  // asks no reclaimer that is gone
}

TEST_F(DeviceShareTest, ThreadsOfSeveralSharesNeverCrossALimit) {
  std::atomic<int> refusals = 0, crossed = 0;
  const auto work = [&](DeviceMemory& share, uint32_t seed) {
    VirtualRange range = share.reserve(8 * kMiB);
    for (int round = 0; round < 100; ++round) {
      seed = seed * 1664525 + 1013904223;
      std::vector<PageId> pages(1 + (seed >> 16) % 3);
      try {
        range.commit(0, static_cast<int64_t>((seed >> 24) % 4) * kPage);
        share.create_pages(pages);
        crossed += share.committed_bytes() > share.limit_bytes() || whole_.committed_bytes() > whole_.limit_bytes();
        share.destroy_pages(pages);
      } catch (const Error&) {
        ++refusals;
      }
      range.decommit(0, range.bytes());
    }
  };
  std::vector<std::thread> threads;
  for (uint32_t seed = 1; seed <= 2; ++seed) {
    threads.emplace_back([&, seed] { work(first_, seed); });
    threads.emplace_back([&, seed] { work(second_, seed + 10); });
  }
  threads.emplace_back([&] { work(whole_, 99); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(crossed, 0);
  EXPECT_GT(refusals, 0);
  EXPECT_EQ(whole_.committed_bytes(), 0);
  EXPECT_EQ(whole_.measured_bytes(), 0);
}

}  // namespace
}  // namespace tidemark
