// What every DeviceMemory must do. To run it over an implementation whose pages the host can read and write:
//
//   INSTANTIATE_TEST_SUITE_P(Host, DeviceMemoryConformance, testing::Values(DeviceMemoryMaker([] { return ...; })));
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "device/device_memory.h"

namespace tidemark {

using DeviceMemoryMaker = std::function<std::unique_ptr<DeviceMemory>()>;

class DeviceMemoryConformance : public testing::TestWithParam<DeviceMemoryMaker> {
 protected:
  void expect_committed(int64_t bytes) const {
    EXPECT_EQ(memory_->committed_bytes(), bytes);
    EXPECT_EQ(memory_->measured_bytes(), bytes);
  }

  std::unique_ptr<DeviceMemory> memory_ = GetParam()();
  const int64_t granule_ = memory_->granularity_bytes();
};

TEST_P(DeviceMemoryConformance, ReservedAddressesHaveNoPages) {
  const VirtualRange range = memory_->reserve(3 * granule_ + 1);
  EXPECT_EQ(range.bytes(), 4 * granule_);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(range.data()) % static_cast<uintptr_t>(granule_), 0u);
  expect_committed(0);
}

TEST_P(DeviceMemoryConformance, NoAmountIsTooLargeToBeRefusedInWords) {
  for (const int64_t bytes : {std::numeric_limits<int64_t>::max(), int64_t{1} << 62, (int64_t{1} << 60) + 1}) {
    try {
      memory_->reserve(bytes);
      FAIL() << "reserved " << bytes;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::out_of_memory);
      EXPECT_NE(std::string(e.what()).find(std::to_string(bytes)), std::string::npos) << e.what();
    }
  }
  EXPECT_EQ(memory_->committed_bytes(), 0);
}

TEST_P(DeviceMemoryConformance, CommittedIsMeasuredAndWritable) {
  VirtualRange range = memory_->reserve(4 * granule_);
  range.commit(0, 3 * granule_);
  expect_committed(3 * granule_);
  EXPECT_EQ(range.committed_bytes(), 3 * granule_);
  EXPECT_EQ(range.measured_bytes(), 3 * granule_);
  std::memset(range.data(), 7, static_cast<size_t>(3 * granule_));
  EXPECT_EQ(range.data()[3 * granule_ - 1], std::byte{7});
  expect_committed(3 * granule_);
}

TEST_P(DeviceMemoryConformance, CommitFillsHolesAndKeepsWhatIsThere) {
  VirtualRange range = memory_->reserve(4 * granule_);
  range.commit(granule_, granule_);
  range.data()[granule_] = std::byte{42};
  range.commit(3 * granule_, granule_);
  expect_committed(2 * granule_);
  range.commit(0, 4 * granule_);
  expect_committed(4 * granule_);
  EXPECT_EQ(range.data()[granule_], std::byte{42});
}

TEST_P(DeviceMemoryConformance, DecommitGivesPagesBack) {
  VirtualRange range = memory_->reserve(4 * granule_);
  range.commit(0, 4 * granule_);
  range.decommit(granule_, 2 * granule_);
  expect_committed(2 * granule_);
  range.decommit(0, 4 * granule_);
  expect_committed(0);
  EXPECT_EQ(memory_->peak_committed_bytes(), 4 * granule_);
  range.commit(0, granule_);
  range.data()[0] = std::byte{1};
  expect_committed(granule_);
}

TEST_P(DeviceMemoryConformance, EndOfTheRangeGivesEverythingBack) {
  {
    VirtualRange range = memory_->reserve(2 * granule_);
    range.commit(0, 2 * granule_);
  }
  expect_committed(0);
}

TEST_P(DeviceMemoryConformance, MovedRangeKeepsItsPages) {
  VirtualRange range = memory_->reserve(2 * granule_);
  range.commit(0, granule_);
  VirtualRange other = memory_->reserve(granule_);
  other.commit(0, granule_);
  other = std::move(range);
  EXPECT_EQ(other.bytes(), 2 * granule_);
  expect_committed(granule_);
  other = VirtualRange();
  expect_committed(0);
}

TEST_P(DeviceMemoryConformance, RangesAreMeasuredApart) {
  VirtualRange first = memory_->reserve(2 * granule_);
  VirtualRange second = memory_->reserve(2 * granule_);
  first.commit(0, 2 * granule_);
  second.commit(granule_, granule_);
  EXPECT_EQ(first.measured_bytes(), 2 * granule_);
  EXPECT_EQ(second.measured_bytes(), granule_);
  expect_committed(3 * granule_);
}

TEST_P(DeviceMemoryConformance, LimitRefusesWithBothNumbersAndChangesNothing) {
  memory_->set_limit_bytes(2 * granule_);
  VirtualRange range = memory_->reserve(8 * granule_);
  range.commit(0, granule_);
  try {
    range.commit(0, 3 * granule_);
    FAIL() << "committed beyond the limit";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::out_of_memory);
    EXPECT_NE(std::string(e.what()).find("4.0 MiB more with 2.0 MiB committed, limit is 4.0 MiB"), std::string::npos)
        << e.what();
  }
  expect_committed(granule_);
  range.commit(granule_, granule_);
  expect_committed(2 * granule_);
  memory_->set_limit_bytes(3 * granule_);
  range.commit(2 * granule_, granule_);
  expect_committed(3 * granule_);
}

TEST_P(DeviceMemoryConformance, CallsAreCounted) {
  VirtualRange range = memory_->reserve(2 * granule_);
  range.commit(0, 2 * granule_);
  const int64_t calls = memory_->alloc_calls();
  EXPECT_EQ(calls, 2);
  range.commit(0, 2 * granule_);
  EXPECT_EQ(memory_->alloc_calls(), calls) << "pages that are there were asked for again";
  EXPECT_EQ(memory_->free_calls(), 0);
  range.decommit(0, granule_);
  EXPECT_EQ(memory_->free_calls(), 1);
}

TEST_P(DeviceMemoryConformance, PagesAreMappedInAnyOrderAndKeepTheirContents) {
  std::vector<PageId> pages(4);
  memory_->create_pages(pages);
  expect_committed(4 * granule_);
  EXPECT_EQ(memory_->created_bytes(), 4 * granule_);
  VirtualRange first = memory_->reserve(4 * granule_);
  first.map(0, pages);
  for (int64_t i = 0; i < 4; ++i) std::memset(first.data() + i * granule_, static_cast<int>(10 + i), 64);
  first.unmap(0, 4 * granule_);
  EXPECT_EQ(first.mapped_bytes(), 0);
  const std::vector<PageId> shuffled = {pages[2], pages[0], pages[3]};
  VirtualRange second = memory_->reserve(4 * granule_);
  second.map(granule_, shuffled);
  EXPECT_EQ(second.mapped_bytes(), 3 * granule_);
  EXPECT_EQ(second.data()[granule_ + 63], std::byte{12});
  EXPECT_EQ(second.data()[2 * granule_ + 63], std::byte{10});
  EXPECT_EQ(second.data()[3 * granule_], std::byte{13});
  expect_committed(4 * granule_);
  second.unmap(0, second.bytes());
  memory_->destroy_pages(pages);
  expect_committed(0);
}

TEST_P(DeviceMemoryConformance, OnePageBehindTwoAddressesIsOnePage) {
  std::vector<PageId> page(1);
  memory_->create_pages(page);
  VirtualRange range = memory_->reserve(3 * granule_);
  range.map(0, page);
  range.map(2 * granule_, page);
  range.data()[5] = std::byte{77};
  EXPECT_EQ(range.data()[2 * granule_ + 5], std::byte{77});
  expect_committed(granule_);
  range = VirtualRange();
  memory_->destroy_pages(page);
  expect_committed(0);
}

TEST_P(DeviceMemoryConformance, CreatedPagesCountAgainstTheLimitWithCommittedOnes) {
  memory_->set_limit_bytes(3 * granule_);
  VirtualRange range = memory_->reserve(4 * granule_);
  range.commit(0, 2 * granule_);
  std::vector<PageId> pages(2);
  EXPECT_THROW(memory_->create_pages(pages), Error);
  expect_committed(2 * granule_);
  memory_->create_pages(std::span(pages).first(1));
  expect_committed(3 * granule_);
  EXPECT_THROW(range.commit(2 * granule_, granule_), Error);
  memory_->destroy_pages(std::span(pages).first(1));
  range.commit(2 * granule_, granule_);
  expect_committed(3 * granule_);
}

TEST_P(DeviceMemoryConformance, ReclaimersAreAskedBeforeARefusal) {
  memory_->set_limit_bytes(3 * granule_);
  std::vector<PageId> cached(2);
  memory_->create_pages(cached);
  int64_t asked = 0;
  const int64_t number = memory_->add_reclaimer([&](int64_t bytes) {
    asked = bytes;
    if (cached.empty()) return int64_t{0};
    memory_->destroy_pages(cached);
    cached.clear();
    return 2 * granule_;
  });
  VirtualRange range = memory_->reserve(4 * granule_);
  range.commit(0, granule_);
  EXPECT_EQ(asked, 0) << "there was room";
  range.commit(granule_, 2 * granule_);
  EXPECT_EQ(asked, 2 * granule_);
  EXPECT_THROW(range.commit(3 * granule_, granule_), Error);
  memory_->remove_reclaimer(number);
  expect_committed(3 * granule_);
}

TEST_P(DeviceMemoryConformance, KnowsItsSize) {
  EXPECT_GT(memory_->capacity_bytes(), 0);
  EXPECT_LE(memory_->free_bytes(), memory_->capacity_bytes());
  EXPECT_EQ(memory_->round_up(1), granule_);
  EXPECT_EQ(memory_->round_up(granule_), granule_);
}

}  // namespace tidemark
