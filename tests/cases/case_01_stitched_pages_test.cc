// Case 1: 8 blocks of 16 MiB freed, then 4 of 32 MiB asked: elsewhere twice the memory is reserved.
#include <gtest/gtest.h>

#include "base/error.h"
#include "device/sim/sim_memory.h"
#include "device/sim/sim_test_name.h"
#include "memory/allocator/caching_allocator.h"

namespace tidemark::tests {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// Blocks between them keep the freed ones apart, so that no two of them are one by chance.
TEST(Case01, FreedBlocksServeLargerOnes) {
  SimMemory device(sim_test_name("case01"), 192 * kMiB);
  memory::PagePool pool(device);
  memory::CachingAllocator allocator(pool);
  std::vector<std::byte*> freed, between;
  for (int i = 0; i < 8; ++i) {
    freed.push_back(allocator.allocate({16 * kMiB, Category::activations}));
    between.push_back(allocator.allocate({2 * kMiB, Category::weights}));
  }
  for (std::byte* block : freed) allocator.deallocate(block);
  EXPECT_EQ(allocator.stats().cached_bytes, 128 * kMiB);

  std::vector<std::byte*> larger;
  for (int i = 0; i < 4; ++i) {
    larger.push_back(allocator.allocate({32 * kMiB, Category::activations}));
    for (int64_t at = 0; at < 32 * kMiB; at += kMiB) larger.back()[at] = std::byte(i);
  }
  const memory::AllocatorStats stats = allocator.stats();
  EXPECT_EQ(stats.reserved_bytes, (128 + 16) * kMiB) << "128 MiB and the blocks between";
  EXPECT_EQ(stats.reserved_peak_bytes, (128 + 16) * kMiB);
  EXPECT_EQ(device.peak_committed_bytes(), (128 + 16) * kMiB);
  EXPECT_EQ(stats.cached_bytes, 0);
  for (int i = 0; i < 4; ++i) {
    for (int64_t at = 0; at < 32 * kMiB; at += kMiB) ASSERT_EQ(larger[static_cast<size_t>(i)][at], std::byte(i));
  }
  for (std::byte* block : larger) allocator.deallocate(block);
  for (std::byte* block : between) allocator.deallocate(block);
}

}  // namespace
}  // namespace tidemark::tests
