#include "memory/arena/arena.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "device/host_memory.h"

namespace tidemark::memory {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

class ArenaTest : public testing::Test {
 protected:
  // The device's granule is 2 MiB.
  HostMemory device_;
};

TEST_F(ArenaTest, GrowsByWholePagesOnDemand) {
  Arena arena(device_, 7 * kMiB);
  EXPECT_EQ(arena.capacity_bytes(), 8 * kMiB);
  EXPECT_EQ(arena.committed_bytes(), 0);
  const std::byte* data = arena.data();
  arena.ensure(1);
  EXPECT_EQ(arena.committed_bytes(), 2 * kMiB);
  arena.data()[0] = std::byte{9};
  arena.ensure(4 * kMiB + 1);
  EXPECT_EQ(arena.committed_bytes(), 6 * kMiB);
  EXPECT_EQ(arena.measured_bytes(), 6 * kMiB);
  EXPECT_EQ(arena.data(), data);
  EXPECT_EQ(arena.data()[0], std::byte{9});
}

TEST_F(ArenaTest, EnsureOfWhatIsThereAsksTheDeviceNothing) {
  Arena arena(device_, 8 * kMiB);
  arena.ensure(4 * kMiB);
  const int64_t calls = device_.alloc_calls();
  arena.ensure(0);
  arena.ensure(3 * kMiB);
  arena.ensure(4 * kMiB);
  EXPECT_EQ(device_.alloc_calls(), calls);
}

TEST_F(ArenaTest, WithoutGrowthEverythingIsThereAtOnce) {
  Arena arena(device_, 5 * kMiB, {.growth = false});
  EXPECT_EQ(arena.committed_bytes(), 6 * kMiB);
  EXPECT_EQ(arena.measured_bytes(), 6 * kMiB);
}

TEST_F(ArenaTest, TrimGivesBackWholePagesAndKeepsThePeak) {
  Arena arena(device_, 8 * kMiB);
  arena.ensure(8 * kMiB);
  arena.trim(2 * kMiB + 1);
  EXPECT_EQ(arena.committed_bytes(), 4 * kMiB);
  EXPECT_EQ(arena.measured_bytes(), 4 * kMiB);
  arena.trim(6 * kMiB);
  EXPECT_EQ(arena.committed_bytes(), 4 * kMiB);
  EXPECT_EQ(arena.peak_committed_bytes(), 8 * kMiB);
  arena.trim(0);
  EXPECT_EQ(arena.measured_bytes(), 0);
  arena.ensure(2 * kMiB);
  EXPECT_EQ(arena.committed_bytes(), 2 * kMiB);
}

TEST_F(ArenaTest, RefusalChangesNothing) {
  device_.set_limit_bytes(4 * kMiB);
  Arena arena(device_, 16 * kMiB);
  arena.ensure(2 * kMiB);
  EXPECT_THROW(arena.ensure(6 * kMiB), Error);
  EXPECT_EQ(arena.committed_bytes(), 2 * kMiB);
  EXPECT_EQ(arena.measured_bytes(), 2 * kMiB);
  EXPECT_EQ(arena.peak_committed_bytes(), 2 * kMiB);
  EXPECT_THROW(Arena(device_, 16 * kMiB, {.growth = false}), Error);
  EXPECT_EQ(device_.measured_bytes(), 2 * kMiB);
}

TEST_F(ArenaTest, EndOfTheArenaGivesItsPagesBack) {
  { Arena arena(device_, 4 * kMiB, {.growth = false}); }
  EXPECT_EQ(device_.committed_bytes(), 0);
  EXPECT_EQ(device_.measured_bytes(), 0);
}

TEST_F(ArenaTest, HighestTouchedByteIsFound) {
  Arena arena(device_, 4 * kMiB, {.growth = false});
  const std::byte pattern{0xa5};
  arena.fill(pattern);
  EXPECT_EQ(arena.highest_touched(pattern), 0);
  arena.data()[0] = std::byte{0};
  EXPECT_EQ(arena.highest_touched(pattern), 1);
  arena.data()[3 * kMiB + 17] = std::byte{0};
  EXPECT_EQ(arena.highest_touched(pattern), 3 * kMiB + 18);
  arena.data()[4 * kMiB - 1] = std::byte{0};
  EXPECT_EQ(arena.highest_touched(pattern), 4 * kMiB);
}

TEST_F(ArenaTest, MoreThanTheCapacityIsABug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Arena arena(device_, 4 * kMiB);
  EXPECT_DEATH(arena.ensure(4 * kMiB + 1), "arena of 4194304 bytes is asked for 4194305");
}

}  // namespace
}  // namespace tidemark::memory
