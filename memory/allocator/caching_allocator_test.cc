#include "memory/allocator/caching_allocator.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <limits>
#include <memory>
#include <thread>

#include "base/error.h"
#include "device/host_memory.h"

namespace tidemark::memory {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

class CachingAllocatorTest : public testing::Test {
 protected:
  CachingAllocatorTest() { device_.set_limit_bytes(64 * kMiB); }

  void expect_sound() const {
    EXPECT_EQ(find_fault(allocator_.stats(), device_.granularity_bytes()), "");
    EXPECT_EQ(allocator_.find_fault(), "");
  }
  std::byte* take(int64_t bytes, Category category = Category::user) { return allocator_.allocate({bytes, category}); }

  HostMemory device_;
  PagePool pool_{device_};
  CachingAllocator allocator_{pool_};
};

TEST_F(CachingAllocatorTest, FiguresAreApart) {
  std::byte* large = take(3 * kMiB, Category::activations);
  std::byte* small = take(1000, Category::input);
  AllocatorStats stats = allocator_.stats();
  EXPECT_EQ(stats.requested_bytes, 3 * kMiB + 1000);
  EXPECT_EQ(stats.allocated_bytes, 3 * kMiB + 1024);
  EXPECT_EQ(stats.allocated_by_category[static_cast<size_t>(Category::activations)], 3 * kMiB);
  EXPECT_EQ(stats.allocated_by_category[static_cast<size_t>(Category::input)], 1024);
  EXPECT_EQ(stats.reserved_bytes, 6 * kMiB);
  EXPECT_EQ(stats.slack_bytes, 3 * kMiB - 1024);
  EXPECT_EQ(stats.cached_bytes, 0);
  EXPECT_EQ(stats.device_free_bytes, 58 * kMiB);
  expect_sound();
  allocator_.deallocate(large);
  stats = allocator_.stats();
  EXPECT_EQ(stats.cached_bytes, 4 * kMiB);
  EXPECT_EQ(stats.slack_bytes, 2 * kMiB - 1024);
  EXPECT_EQ(stats.reserved_bytes, 6 * kMiB);
  allocator_.deallocate(small);
  stats = allocator_.stats();
  EXPECT_EQ(stats.cached_bytes, 6 * kMiB);
  EXPECT_EQ(stats.allocated_peak_bytes, 3 * kMiB + 1024);
  allocator_.reset_peaks();
  EXPECT_EQ(allocator_.stats().allocated_peak_bytes, 0);
  EXPECT_EQ(allocator_.stats().reserved_peak_bytes, 6 * kMiB);
  expect_sound();
}

TEST_F(CachingAllocatorTest, HitsAskTheDeviceForNothing) {
  std::byte* large = take(10 * kMiB);
  allocator_.deallocate(take(5000));
  allocator_.deallocate(large);
  const int64_t calls = device_.alloc_calls();
  for (int i = 0; i < 100; ++i) {
    std::byte* first = take(10 * kMiB);
    std::byte* second = take(5000);
    allocator_.deallocate(first);
    allocator_.deallocate(second);
  }
  EXPECT_EQ(device_.alloc_calls(), calls);
  EXPECT_EQ(allocator_.stats().hits, 200);
}

TEST_F(CachingAllocatorTest, SmallBlocksLieAcrossTheEdgesOfPages) {
  std::vector<std::byte*> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(take(900 * 1024));
  EXPECT_EQ(allocator_.stats().reserved_bytes, 10 * kMiB) << "9000 KiB fit into five pages only side by side";
  for (size_t i = 0; i < blocks.size(); ++i) std::memset(blocks[i], static_cast<int>(i), 900 * 1024);
  for (size_t i = 0; i < blocks.size(); ++i) EXPECT_EQ(blocks[i][900 * 1024 - 1], std::byte(i));
  for (std::byte* block : blocks) allocator_.deallocate(block);
  EXPECT_EQ(allocator_.stats().cached_bytes, 10 * kMiB);
  expect_sound();
}

TEST_F(CachingAllocatorTest, PagesOfFreedSmallBlocksServeLargeOnesAndBack) {
  std::vector<std::byte*> small;
  for (int i = 0; i < 1024; ++i) small.push_back(take(60 * 1024));
  EXPECT_GE(allocator_.stats().reserved_bytes, 60 * kMiB);
  for (std::byte* block : small) allocator_.deallocate(block);
  std::byte* large = take(64 * kMiB);
  EXPECT_EQ(allocator_.stats().reserved_bytes, 64 * kMiB);
  allocator_.deallocate(large);
  allocator_.deallocate(take(100));
  EXPECT_EQ(allocator_.stats().reserved_bytes, 64 * kMiB);
  expect_sound();
}

TEST_F(CachingAllocatorTest, TrimGivesBackWholeFreePagesOnly) {
  std::byte* kept = take(100, Category::input);
  allocator_.deallocate(take(20 * kMiB));
  EXPECT_EQ(allocator_.trim(8 * kMiB), 12 * kMiB);
  EXPECT_EQ(allocator_.stats().cached_bytes, 8 * kMiB);
  const EmptiedCache emptied = empty_cache(allocator_);
  EXPECT_EQ(emptied.released_bytes, 8 * kMiB);
  EXPECT_EQ(emptied.live_by_category[static_cast<size_t>(Category::input)], 256);
  EXPECT_EQ(emptied.slack_bytes, 2 * kMiB - 256);
  EXPECT_EQ(device_.committed_bytes(), 2 * kMiB);
  allocator_.deallocate(kept);
  expect_sound();
}

TEST_F(CachingAllocatorTest, ARefusalWithoutABudgetNamesNone) {
  device_.set_limit_bytes(std::numeric_limits<int64_t>::max());
  try {
    take(int64_t{1} << 50);
    FAIL() << "no machine has that";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("; stop other programs, lower the batch, or free blocks"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(CachingAllocatorTest, RefusalShowsTheWholePicture) {
  std::byte* held = take(40 * kMiB, Category::kv_cache);
  std::byte* small = take(100, Category::input);
  try {
    take(30 * kMiB, Category::workspace);
    FAIL() << "beyond the limit";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_STREQ(
        error.what(),
        "device 'cpu' cannot give 30.0 MiB for workspace: 8.0 MiB are missing; device-free 22.0 MiB, allocated "
        "40.0 MiB, reserved 42.0 MiB, cached 0 B, pending 0 B, slack 2.0 MiB, budget 64.0 MiB, committed 42.0 "
        "MiB; largest users: kv_cache 40.0 MiB, input 256 B; largest blocks: 40.0 MiB (kv_cache), 100 B "
        "(input); raise memory.budget, lower the batch, or free blocks");
  }
  EXPECT_EQ(allocator_.stats().out_of_memory, 1);
  expect_sound();
  allocator_.deallocate(take(22 * kMiB));
  allocator_.deallocate(held);
  allocator_.deallocate(small);
}

// Case: a request that was refused had given its own cache to the device and taken it back page by page; the pages
// ended in the pool, where no figure counts them and trim() does not reach.
TEST_F(CachingAllocatorTest, ARefusedRequestLeavesTheCacheWhereItIs) {
  std::byte* freed = take(40 * kMiB);
  std::byte* kept = take(20 * kMiB);
  allocator_.deallocate(freed);
  const int64_t calls = device_.alloc_calls();
  try {
    take(50 * kMiB);
    FAIL() << "beyond the limit";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("6.0 MiB are missing"), std::string::npos) << error.what();
  }
  const AllocatorStats stats = allocator_.stats();
  EXPECT_EQ(stats.cached_bytes, 40 * kMiB);
  EXPECT_EQ(stats.reserved_bytes, device_.committed_bytes());
  EXPECT_EQ(pool_.cached_bytes(), 0);
  EXPECT_EQ(allocator_.trim(0), 40 * kMiB);
  EXPECT_EQ(device_.committed_bytes(), 20 * kMiB);
  EXPECT_LE(device_.alloc_calls() - calls, 1) << "the request was refused in one go";
  allocator_.deallocate(kept);
  expect_sound();
}

TEST_F(CachingAllocatorTest, CachedPagesServeOthersOnTheDevice) {
  allocator_.deallocate(take(60 * kMiB));
  VirtualRange range = device_.reserve(50 * kMiB);
  range.commit(0, 50 * kMiB);
  EXPECT_LE(allocator_.stats().reserved_bytes, 14 * kMiB);
  std::byte* rest = take(14 * kMiB);
  EXPECT_THROW(take(kMiB), Error);
  allocator_.deallocate(rest);
  CachingAllocator other(pool_);
  other.deallocate(other.allocate({14 * kMiB}));
  expect_sound();
}

TEST(CachingAllocatorCallback, IsAskedBeforeARefusal) {
  HostMemory device;
  device.set_limit_bytes(16 * kMiB);
  PagePool pool(device);
  std::byte* held = nullptr;
  CachingAllocator* asked = nullptr;
  int64_t missing = 0;
  AllocatorOptions options;
  options.on_out_of_memory = [&](int64_t bytes) {
    missing = bytes;
    if (!held) return false;
    asked->deallocate(std::exchange(held, nullptr));
    return true;
  };
  CachingAllocator allocator(pool, options);
  asked = &allocator;
  held = allocator.allocate({10 * kMiB});
  allocator.deallocate(allocator.allocate({12 * kMiB}));
  EXPECT_EQ(missing, 6 * kMiB);
  EXPECT_EQ(allocator.stats().retries, 1);
  EXPECT_THROW(allocator.allocate({18 * kMiB}), Error);
  EXPECT_EQ(missing, 2 * kMiB);
}

TEST(CachingAllocatorDeath, ForeignAndDoubleFreesAreBugs) {
  HostMemory device;
  device.set_limit_bytes(16 * kMiB);
  PagePool pool(device);
  CachingAllocator allocator(pool);
  std::byte* small = allocator.allocate({1000});
  std::byte* large = allocator.allocate({4 * kMiB});
  std::byte other{};
  EXPECT_DEATH(allocator.deallocate(&other), "not of this allocator");
  EXPECT_DEATH(allocator.deallocate(small + 256), "not the start of a live block");
  EXPECT_DEATH(allocator.deallocate(large + 2 * kMiB), "not the start of a live block");
  allocator.deallocate(small);
  allocator.deallocate(large);
  EXPECT_DEATH(allocator.deallocate(small), "not the start of a live block");
  EXPECT_DEATH(allocator.deallocate(large), "not the start of a live block");
}

TEST_F(CachingAllocatorTest, MoreThanAnyDeviceHasIsRefused) {
  for (const int64_t bytes :
       {device_.capacity_bytes() + 1, (int64_t{1} << 50) + 1, std::numeric_limits<int64_t>::max()}) {
    try {
      take(bytes);
      FAIL() << bytes;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    }
  }
  EXPECT_EQ(allocator_.stats().out_of_memory, 3);
  EXPECT_EQ(device_.alloc_calls(), 0) << "addresses were taken for it";
  expect_sound();
}

// As a program does that forks and whose child ends in good order.
TEST(CachingAllocatorInAFork, ChildLeavesItsParentsBlocksAlone) {
  HostMemory device;
  auto pool = std::make_unique<PagePool>(device);
  auto allocator = std::make_unique<CachingAllocator>(*pool);
  std::byte* block = allocator->allocate({4 * kMiB});
  std::memset(block, 5, 4 * kMiB);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    allocator->deallocate(block);
    allocator.reset();
    pool.reset();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(block[4 * kMiB - 1], std::byte{5});
  EXPECT_EQ(device.measured_bytes(), 4 * kMiB);
  allocator->deallocate(block);
}

TEST_F(CachingAllocatorTest, ThreadsShareIt) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([this, t] {
      std::vector<std::pair<std::byte*, int64_t>> held;
      for (int i = 0; i < 400; ++i) {
        const int64_t bytes = i % 40 == 0 ? 2 * kMiB + t : 64 * (1 + (i * 7 + t) % 50);
        held.emplace_back(take(bytes), bytes);
        held.back().first[0] = held.back().first[bytes - 1] = std::byte(t);
        if (held.size() < 8) continue;
        const auto [data, size] = held.front();
        EXPECT_TRUE(data[0] == std::byte(t) && data[size - 1] == std::byte(t));
        allocator_.deallocate(data);
        held.erase(held.begin());
      }
      for (const auto& [data, size] : held) allocator_.deallocate(data);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allocator_.stats().live_blocks, 0);
  expect_sound();
}

}  // namespace
}  // namespace tidemark::memory
