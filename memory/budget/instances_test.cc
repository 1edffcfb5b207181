// Several instances in one process, each with a budget of its own over the same device.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "base/error.h"
#include "device/device_share.h"
#include "device/host_memory.h"
#include "device/sim/sim_memory.h"
#include "device/sim/sim_stream.h"
#include "device/sim/sim_test_name.h"
#include "memory/allocator/caching_allocator.h"
#include "memory/allocator/decorators/allocator_decorator.h"
#include "memory/budget/budget.h"
#include "memory/budget/idle_release_allocator.h"

namespace tidemark::memory {
namespace {

constexpr int64_t kMiB = 1 << 20;

// A model with a share of the device, and what it holds.
struct Instance {
  Instance(DeviceMemory& device, const std::string& name, const char* limit)
      : share(device, name, device.capacity_bytes()), budget(parse_byte_limit(limit), share) {}

  Block take(int64_t bytes) { return Block(allocator, {.bytes = bytes}); }

  DeviceShare share;
  Budget budget;
  PagePool pool{share};
  CachingAllocator allocator{pool};
};

class Instances : public ::testing::Test {
 protected:
  void SetUp() override { device_.set_limit_bytes(64 * kMiB); }

  HostMemory device_;
};

TEST_F(Instances, OneHitsItsOwnLimitAndTheOtherIsUnaffected) {
  Instance greedy(device_, "cpu/greedy", "16MiB"), modest(device_, "cpu/modest", "32MiB");
  const Block kept = modest.take(10 * kMiB);
  std::vector<Block> taken;
  try {
    for (;;) taken.push_back(greedy.take(2 * kMiB));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_NE(std::string(error.what()).find("16.0 MiB"), std::string::npos) << error.what();
  }
  EXPECT_EQ(taken.size(), 8u);
  EXPECT_EQ(greedy.share.committed_bytes(), 16 * kMiB);
  EXPECT_EQ(modest.share.committed_bytes(), 10 * kMiB);
  EXPECT_EQ(modest.allocator.stats().out_of_memory, 0);
  EXPECT_EQ(device_.committed_bytes(), 26 * kMiB);
  const Block more = modest.take(20 * kMiB);
  EXPECT_EQ(modest.share.committed_bytes(), 30 * kMiB);
}

TEST_F(Instances, SharesOfTheDeviceAreSharesOfTheWhole) {
  const Instance half(device_, "cpu/half", "50%");
  EXPECT_EQ(half.budget.limit_bytes(), device_.capacity_bytes() / 2);
}

TEST_F(Instances, GrowsOnDemandUpToTheLimit) {
  Instance grows(device_, "cpu/grows", "8MiB");
  EXPECT_EQ(grows.share.committed_bytes(), 0) << "nothing is taken before it is needed";
  std::vector<Block> taken;
  for (int i = 1; i <= 4; ++i) {
    taken.push_back(grows.take(2 * kMiB));
    EXPECT_EQ(grows.share.committed_bytes(), i * 2 * kMiB);
  }
  EXPECT_THROW(grows.take(2 * kMiB), Error);
  EXPECT_EQ(grows.share.peak_committed_bytes(), grows.budget.limit_bytes());
}

// What one keeps for later is given up for the other when the device has no more.
TEST_F(Instances, CacheOfOneServesTheOther) {
  Instance first(device_, "cpu/first", "64MiB"), second(device_, "cpu/second", "64MiB");
  first.take(60 * kMiB);
  EXPECT_EQ(first.allocator.stats().cached_bytes, 60 * kMiB);
  const Block large = second.take(50 * kMiB);
  EXPECT_LE(device_.committed_bytes(), 64 * kMiB);
}

TEST_F(Instances, IdleOneGivesItsCacheBackAndKeepsWhatIsInUse) {
  Instance instance(device_, "cpu/idle", "64MiB");
  IdleReleaseAllocator idle(instance.allocator, std::chrono::milliseconds(40));
  const Block used(idle, {.bytes = 4 * kMiB});
  { const Block gone(idle, {.bytes = 12 * kMiB}); }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(instance.share.committed_bytes(), 16 * kMiB) << "not at once";
  while (instance.share.committed_bytes() > 4 * kMiB &&
         std::chrono::steady_clock::now() - begin < std::chrono::seconds(10))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(instance.share.committed_bytes(), 4 * kMiB);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(35));
  while (idle.releases() == 0) std::this_thread::yield();
  EXPECT_EQ(idle.released_bytes(), 12 * kMiB);
  const Block again(idle, {.bytes = 12 * kMiB});
  EXPECT_EQ(instance.share.committed_bytes(), 16 * kMiB);
}

// Asked for the first time, the stream has not told yet how far it is.
TEST(IdleRelease, PagesOfAStreamGoOnceItIsDoneWithThem) {
  SimMemory device(sim_test_name("idle"), 32 * kMiB);
  SimQueues queues(1, &device.access());
  const std::unique_ptr<Stream> stream = queues.make_stream();
  PagePool pool(device);
  CachingAllocator allocator(pool);
  IdleReleaseAllocator idle(allocator, std::chrono::milliseconds(20));
  std::byte* block = idle.allocate({.bytes = 8 * kMiB, .stream = stream.get()});
  stream->fill(block, 1, 8 * kMiB);
  stream->synchronize();
  idle.deallocate(block);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (device.committed_bytes() > 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(device.committed_bytes(), 0);
}

// A device that has broken.
class FailingTrim final : public AllocatorDecorator {
 public:
  using AllocatorDecorator::AllocatorDecorator;
  int64_t trim(int64_t) override {
    ++trims;
    throw Error(ErrorCode::device, "lost");
  }
  std::atomic<int> trims{0};
};

TEST(IdleRelease, BrokenDeviceDoesNotEndTheProgram) {
  HostMemory device;
  PagePool pool(device);
  CachingAllocator caching(pool);
  FailingTrim failing(caching);
  IdleReleaseAllocator idle(failing, std::chrono::milliseconds(4));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (failing.trims == 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_GT(failing.trims, 0);
  const Block block(idle, {.bytes = kMiB});
  EXPECT_NE(block.data(), nullptr);
  EXPECT_EQ(idle.releases(), 0);
}

TEST_F(Instances, WorkOnBlocksIsNoPause) {
  Instance instance(device_, "cpu/works", "64MiB");
  IdleReleaseAllocator idle(instance.allocator, std::chrono::milliseconds(4));
  idle.begin_work();
  { const Block block(idle, {.bytes = 8 * kMiB}); }
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(idle.releases(), 0);
  EXPECT_EQ(instance.allocator.stats().cached_bytes, 8 * kMiB);
  idle.end_work();
  const auto begin = std::chrono::steady_clock::now();
  while (idle.releases() == 0 && std::chrono::steady_clock::now() - begin < std::chrono::seconds(10))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(instance.share.committed_bytes(), 0);
}

TEST_F(Instances, BusyOneKeepsItsCache) {
  Instance instance(device_, "cpu/busy", "64MiB");
  IdleReleaseAllocator idle(instance.allocator, std::chrono::milliseconds(1000));
  for (int i = 0; i < 40; ++i) {
    { const Block block(idle, {.bytes = 8 * kMiB}); }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(idle.releases(), 0);
  EXPECT_EQ(instance.allocator.stats().cached_bytes, 8 * kMiB);
}

}  // namespace
}  // namespace tidemark::memory
