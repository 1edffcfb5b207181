// Random sequences against a simple model: what callers hold never overlaps and keeps its contents, no request fails
// while its page-rounded size is at most free + cached, and the books are right after every call.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

#include "base/error.h"
#include "device/host_memory.h"
#include "memory/allocator/caching_allocator.h"

namespace tidemark::memory {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

class Model {
 public:
  Model(uint32_t seed, int64_t limit_bytes) : seed_(seed), random_(seed) { device_.set_limit_bytes(limit_bytes); }

  // `small_share` of the requests is small; sizes change their kind now and then, so that what is free never fits.
  void run(int steps, double small_share) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE("seed " + std::to_string(seed_) + ", step " + std::to_string(i));
      if (i % 50 == 0) largest_ = std::uniform_int_distribution<int64_t>(1, 24)(random_) * kMiB;
      if (live_.empty() || random_() % 100 < 55) {
        allocate(i, std::bernoulli_distribution(small_share)(random_));
      } else {
        free_one();
      }
      if (i % 97 == 0) allocator_.trim(static_cast<int64_t>(random_() % 32) * kMiB);
      check();
    }
    while (!live_.empty()) free_one();
    check();
    EXPECT_EQ(allocator_.stats().allocated_bytes, 0);
    allocator_.trim(0);
    EXPECT_EQ(allocator_.stats().reserved_bytes, 0);
    EXPECT_EQ(device_.committed_bytes(), 0);
  }
  int64_t refusals() const { return refusals_; }

 private:
  struct Held {
    int64_t bytes;
    uint8_t mark;
  };

  int64_t random_bytes(bool small) {
    if (!small) return std::uniform_int_distribution<int64_t>(kMiB, largest_)(random_);
    const int shift = std::uniform_int_distribution<int>(0, 19)(random_);
    return std::uniform_int_distribution<int64_t>(1, int64_t{2} << shift)(random_);
  }

  void allocate(int step, bool small) {
    const int64_t bytes = random_bytes(small);
    const AllocatorStats before = allocator_.stats();
    const Category category = static_cast<Category>(random_() % kCategoryCount);
    std::byte* data = nullptr;
    try {
      data = allocator_.allocate({bytes, category});
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::out_of_memory);
      ++refusals_;
      EXPECT_GT(device_.round_up(bytes), before.device_free_bytes + before.cached_bytes) << error.what();
      return;
    }
    ASSERT_EQ(reinterpret_cast<uintptr_t>(data) % kAllocationAlignment, 0u);
    const auto [entry, added] = live_.emplace(data, Held{bytes, static_cast<uint8_t>(step)});
    ASSERT_TRUE(added);
    const auto before_it = entry == live_.begin() ? entry : std::prev(entry);
    ASSERT_TRUE(before_it == entry || before_it->first + before_it->second.bytes <= data);
    ASSERT_TRUE(std::next(entry) == live_.end() || data + bytes <= std::next(entry)->first);
    mark(data, entry->second);
  }

  // Both ends, and places in each page.
  template <class Visit>
  static void visit_places(int64_t bytes, Visit visit) {
    for (int64_t at = 0; at < bytes; at += kMiB / 2) visit(at);
    visit(bytes - 1);
  }
  void mark(std::byte* data, const Held& held) {
    visit_places(held.bytes, [&](int64_t at) { data[at] = std::byte{held.mark}; });
  }

  void free_one() {
    auto entry = live_.begin();
    std::advance(entry, static_cast<std::ptrdiff_t>(random_() % live_.size()));
    visit_places(entry->second.bytes,
                 [&](int64_t at) { ASSERT_EQ(entry->first[at], std::byte{entry->second.mark}) << "at " << at; });
    allocator_.deallocate(entry->first);
    live_.erase(entry);
  }

  void check() {
    const AllocatorStats stats = allocator_.stats();
    EXPECT_EQ(find_fault(stats, device_.granularity_bytes()), "");
    EXPECT_EQ(allocator_.find_fault(), "");
    EXPECT_EQ(stats.reserved_bytes + pool_.cached_bytes(), device_.committed_bytes());
    EXPECT_EQ(stats.live_blocks, static_cast<int64_t>(live_.size()));
    int64_t requested = 0;
    for (const auto& [data, held] : live_) requested += held.bytes;
    EXPECT_EQ(stats.requested_bytes, requested);
  }

  const uint32_t seed_;
  std::mt19937 random_;
  HostMemory device_;
  PagePool pool_{device_};
  CachingAllocator allocator_{pool_};
  std::map<std::byte*, Held> live_;
  int64_t largest_ = kMiB;
  int64_t refusals_ = 0;
};

TEST(CachingProperty, LargeBlocksOfAnySizeInAnyOrder) {
  int64_t refusals = 0;
  for (const uint32_t seed : {1u, 2u, 3u}) {
    Model model(seed, 64 * kMiB);
    model.run(400, 0.0);
    refusals += model.refusals();
  }
  EXPECT_GT(refusals, 20) << "the device was never full";
}

TEST(CachingProperty, SmallAndLargeBlocksShareTheDevice) {
  int64_t refusals = 0;
  for (const uint32_t seed : {11u, 12u, 13u}) {
    Model model(seed, 48 * kMiB);
    model.run(600, 0.7);
    refusals += model.refusals();
  }
  EXPECT_GT(refusals, 5) << "the device was never full";
}

TEST(CachingProperty, SmallBlocksAlone) {
  Model model(21, 24 * kMiB);
  model.run(1500, 1.0);
}

}  // namespace
}  // namespace tidemark::memory
