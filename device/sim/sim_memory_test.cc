#include "device/sim/sim_memory.h"

#include <gtest/gtest.h>

#include <vector>

#include "device/device_memory_conformance.h"
#include "device/sim/sim_test_name.h"

namespace tidemark {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

std::unique_ptr<SimMemory> make_sim(int64_t bytes, PageFileKind kind = PageFileKind::automatic) {
  return std::make_unique<SimMemory>(sim_test_name("memory"), bytes, SimOptions{.file_kind = kind});
}

INSTANTIATE_TEST_SUITE_P(Sim, DeviceMemoryConformance,
                         testing::Values(DeviceMemoryMaker([] { return make_sim(64 * kMiB); }),
                                         DeviceMemoryMaker([] { return make_sim(64 * kMiB, PageFileKind::memfd); })));

void expect_books(const DeviceMemory& memory, int64_t total, int64_t own, int64_t foreign) {
  const DeviceUse use = memory.use();
  EXPECT_EQ(use.total_bytes, total);
  EXPECT_EQ(use.own_bytes, own);
  EXPECT_EQ(use.foreign_bytes, foreign);
  EXPECT_EQ(use.free_bytes, total - own - foreign);
}

TEST(SimMemory, TwoClientsSeeEachOtherAsForeign) {
  const std::string name = sim_test_name("two");
  SimMemory first(name, 16 * kMiB);
  SimMemory second(name, 0);
  EXPECT_EQ(second.capacity_bytes(), 16 * kMiB);
  VirtualRange range = first.reserve(16 * kMiB);
  range.commit(0, 6 * kMiB);
  std::vector<PageId> pages(2);
  second.create_pages(pages);
  expect_books(first, 16 * kMiB, 6 * kMiB, 4 * kMiB);
  expect_books(second, 16 * kMiB, 4 * kMiB, 6 * kMiB);
  EXPECT_EQ(first.own_bytes(), first.committed_bytes());
  EXPECT_EQ(second.foreign_bytes(), 6 * kMiB);
  EXPECT_EQ(second.free_bytes(), 6 * kMiB);
  second.destroy_pages(pages);
  range.decommit(0, 2 * kMiB);
  expect_books(first, 16 * kMiB, 4 * kMiB, 0);
}

TEST(SimMemory, FullDeviceRefusesWithBothNumbersAndChangesNothing) {
  const std::string name = sim_test_name("full");
  SimMemory neighbour(name, 8 * kMiB);
  VirtualRange theirs = neighbour.reserve(6 * kMiB);
  theirs.commit(0, 6 * kMiB);
  SimMemory memory(name, 8 * kMiB);
  VirtualRange range = memory.reserve(8 * kMiB);
  for (const bool created : {false, true}) {
    std::vector<PageId> pages(2);
    try {
      created ? memory.create_pages(pages) : range.commit(0, 4 * kMiB);
      FAIL() << "more than the device has";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::out_of_memory);
      EXPECT_NE(std::string(e.what()).find("is asked for 4.0 MiB more with 0 B committed, 2.0 MiB of 8.0 MiB can be"),
                std::string::npos)
          << e.what();
    }
    expect_books(memory, 8 * kMiB, 0, 6 * kMiB);
    EXPECT_EQ(memory.measured_bytes(), 0);
  }
  range.commit(0, 2 * kMiB);
  expect_books(memory, 8 * kMiB, 2 * kMiB, 6 * kMiB);
}

TEST(SimMemory, NewPagesHoldPoison) {
  const std::unique_ptr<SimMemory> memory = make_sim(8 * kMiB);
  VirtualRange range = memory->reserve(4 * kMiB);
  range.commit(0, 2 * kMiB);
  EXPECT_EQ(range.data()[77], std::byte{SimMemory::kPoison});
  range.data()[77] = std::byte{1};
  range.decommit(0, 2 * kMiB);
  range.commit(0, 2 * kMiB);
  EXPECT_EQ(range.data()[77], std::byte{SimMemory::kPoison});
  std::vector<PageId> page(1);
  memory->create_pages(page);
  range.map(2 * kMiB, page);
  EXPECT_EQ(range.data()[4 * kMiB - 1], std::byte{SimMemory::kPoison});
}

TEST(SimMemory, AccessFollowsPages) {
  const std::unique_ptr<SimMemory> memory = make_sim(8 * kMiB);
  VirtualRange range = memory->reserve(6 * kMiB);
  const auto accessible = [&](int64_t offset, int64_t bytes) {
    return memory->access().run(std::vector<AddressRange>{{range.data() + offset, bytes}}, [] {});
  };
  EXPECT_FALSE(accessible(0, 1));
  range.commit(0, 2 * kMiB);
  std::vector<PageId> page(1);
  memory->create_pages(page);
  range.map(2 * kMiB, page);
  EXPECT_TRUE(accessible(0, 4 * kMiB));
  EXPECT_TRUE(accessible(2 * kMiB - 1, 2));
  EXPECT_FALSE(accessible(4 * kMiB - 1, 2));
  range.unmap(2 * kMiB, 2 * kMiB);
  EXPECT_FALSE(accessible(2 * kMiB - 1, 2));
  range.decommit(0, 2 * kMiB);
  EXPECT_FALSE(accessible(kMiB, 4));
  int on_the_host = 0;
  EXPECT_TRUE(memory->access().run(std::vector<AddressRange>{{&on_the_host, sizeof(int)}}, [] {}));
}

}  // namespace
}  // namespace tidemark
