#include "memory/budget/memory_figures.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "device/host_memory.h"
#include "memory/allocator/caching_allocator.h"

namespace tidemark::memory {
namespace {

constexpr int64_t kMiB = 1 << 20;

class Figures : public ::testing::Test {
 protected:
  MemoryFigures read() { return read_figures(device_, books_of(allocator_.stats())); }

  HostMemory device_;
  PagePool pool_{device_};
  CachingAllocator allocator_{pool_};
};

TEST_F(Figures, EveryByteIsSomewhere) {
  const Block kept(allocator_, {.bytes = 6 * kMiB, .category = Category::kv_cache});
  { const Block gone(allocator_, {.bytes = 4 * kMiB}); }
  const MemoryFigures figures = read();
  EXPECT_EQ(figures.books.allocated[static_cast<size_t>(Category::kv_cache)], 6 * kMiB);
  EXPECT_EQ(figures.books.cached_bytes, 4 * kMiB);
  EXPECT_EQ(figures.device.own_bytes, 10 * kMiB);
  EXPECT_EQ(figures.books.reserved_bytes,
            sum(figures.books.allocated) + figures.books.cached_bytes + figures.books.slack_bytes);
  EXPECT_EQ(figures.unbooked_bytes, 0);
  EXPECT_EQ(figures.device.total_bytes, figures.books.reserved_bytes + figures.device.free_bytes +
                                            figures.device.foreign_bytes + figures.unattributed_bytes);
}

TEST_F(Figures, PagesInNobodysBooksAreUnattributed) {
  VirtualRange raw = device_.reserve(8 * kMiB);
  raw.commit(0, 6 * kMiB);
  EXPECT_EQ(read().unbooked_bytes, 6 * kMiB);
  EXPECT_EQ(growth_sample(read()).unattributed_bytes, 6 * kMiB);
  MemoryBooks books = books_of(allocator_.stats());
  books += books_of_pages({}, raw.committed_bytes());
  EXPECT_EQ(read_figures(device_, books).unbooked_bytes, 0) << "once somebody owns up to them";
}

TEST_F(Figures, HostMemoryIsWhatIsNotTheDevices) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a sanitizer keeps shadows of what is written in host memory";
#endif
  const int64_t before = read().host_bytes;
  VirtualRange raw = device_.reserve(64 * kMiB);
  raw.commit(0, 64 * kMiB);
  const Block block(allocator_, {.bytes = 32 * kMiB});
  EXPECT_LT(std::abs(read().host_bytes - before), 2 * kMiB) << "the device's pages are not counted twice";
  const auto bytes = std::make_unique_for_overwrite<char[]>(32 * kMiB);
  std::memset(bytes.get(), 1, 32 * kMiB);
  EXPECT_NEAR(static_cast<double>(read().host_bytes - before), 32.0 * kMiB, 2.0 * kMiB);
}

TEST(MemoryBooks, PartsAddUp) {
  MemoryBooks books{.reserved_bytes = 10, .cached_bytes = 1, .largest_free_block_bytes = 7, .retries = 2};
  books.allocated[0] = 5;
  MemoryBooks more{.reserved_bytes = 20, .slack_bytes = 3, .largest_free_block_bytes = 4, .out_of_memory = 1};
  more.allocated[0] = 6;
  books += more;
  EXPECT_EQ(books.allocated[0], 11);
  EXPECT_EQ(books.reserved_bytes, 30);
  EXPECT_EQ(books.cached_bytes, 1);
  EXPECT_EQ(books.slack_bytes, 3);
  EXPECT_EQ(books.largest_free_block_bytes, 7);
  EXPECT_EQ(books.retries, 2);
  EXPECT_EQ(books.out_of_memory, 1);
}

}  // namespace
}  // namespace tidemark::memory
