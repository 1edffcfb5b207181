// Case 2: irregular feature maps; elsewhere a request fails although free + cached is larger.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/error.h"
#include "device/sim/sim_memory.h"
#include "device/sim/sim_test_name.h"
#include "memory/allocator/caching_allocator.h"

namespace tidemark::tests {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// Images of random sizes through a net of five levels: feature maps shrink and channels grow, some maps are kept for
// the backward pass and go back in another order than they came.
TEST(Case02, NoRequestFailsWhileFreeAndCachedAreLarger) {
  SimMemory device(sim_test_name("case02"), 96 * kMiB);
  memory::PagePool pool(device);
  memory::CachingAllocator allocator(pool);
  std::mt19937 random(2);
  int64_t refusals = 0;
  for (int image = 0; image < 120; ++image) {
    const int64_t height = 64 + static_cast<int64_t>(random() % 1200),
                  width = 64 + static_cast<int64_t>(random() % 1200);
    std::vector<std::byte*> kept;
    for (int level = 0; level < 5; ++level) {
      const int64_t bytes = (height >> level) * (width >> level) * (int64_t{8} << level) * 4;
      for (const Category category : {Category::activations, Category::workspace}) {
        const memory::AllocatorStats before = allocator.stats();
        try {
          kept.push_back(allocator.allocate({bytes, category}));
        } catch (const Error& error) {
          ASSERT_EQ(error.code(), ErrorCode::out_of_memory);
          ASSERT_GT(device.round_up(bytes), before.device_free_bytes + before.cached_bytes) << error.what();
          ++refusals;
        }
        if (!kept.empty() && random() % 3 == 0) {
          std::swap(kept[random() % kept.size()], kept.back());
          allocator.deallocate(kept.back());
          kept.pop_back();
        }
      }
    }
    while (!kept.empty()) {
      std::swap(kept[random() % kept.size()], kept.back());
      allocator.deallocate(kept.back());
      kept.pop_back();
    }
  }
  EXPECT_GT(refusals, 5) << "the device was never full";
  EXPECT_EQ(allocator.stats().allocated_bytes, 0);
  // With everything free, one block may have it all.
  allocator.deallocate(allocator.allocate({96 * kMiB}));
}

// Every order of four sizes that fill the device: after it, each of them and the whole can be had.
TEST(Case02, AnyOrderOfSizesFitsAgain) {
  std::vector<int64_t> sizes = {6 * kMiB, 10 * kMiB, 18 * kMiB, 30 * kMiB};
  SimMemory device(sim_test_name("orders"), 64 * kMiB);
  memory::PagePool pool(device);
  memory::CachingAllocator allocator(pool);
  do {
    std::vector<std::byte*> blocks;
    for (const int64_t bytes : sizes) blocks.push_back(allocator.allocate({bytes}));
    allocator.deallocate(blocks[0]);
    allocator.deallocate(blocks[2]);
    std::byte* both = allocator.allocate({sizes[0] + sizes[2]});
    allocator.deallocate(blocks[1]);
    allocator.deallocate(blocks[3]);
    allocator.deallocate(allocator.allocate({sizes[1] + sizes[3]}));
    allocator.deallocate(both);
  } while (std::next_permutation(sizes.begin(), sizes.end()));
  EXPECT_EQ(allocator.stats().reserved_peak_bytes, 64 * kMiB);
}

}  // namespace
}  // namespace tidemark::tests
