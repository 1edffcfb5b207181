#include "memory/arena/search/valley_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/cpu_isa.h"

namespace tidemark::memory {
namespace {

// Items drawn at random, sorted as the search wants them.
Packing random_packing(uint64_t seed, int items, int sections, int largest_size) {
  std::mt19937_64 random(seed);
  Packing packing;
  packing.section_count = sections;
  for (int i = 0; i < items; ++i) {
    PackingItem item;
    item.size = 1 + static_cast<int32_t>(random() % largest_size);
    const int32_t begin = static_cast<int32_t>(random() % sections);
    const int32_t length = 1 + static_cast<int32_t>(random() % std::max(1, sections / 3));
    item.spans = {{begin, std::min(sections, begin + length)}};
    packing.items.push_back(item);
  }
  std::sort(packing.items.begin(), packing.items.end(),
            [](const PackingItem& a, const PackingItem& b) { return a.begin() < b.begin(); });
  return packing;
}

std::vector<int32_t> largest_offsets(const Packing& packing, int32_t capacity) {
  std::vector<int32_t> result;
  for (const PackingItem& item : packing.items) result.push_back(capacity - item.size);
  return result;
}

int32_t fullest_section(const Packing& packing) {
  std::vector<int32_t> load(packing.section_count);
  for (const PackingItem& item : packing.items) {
    for (const SectionSpan& span : item.spans) {
      for (int32_t s = span.begin; s < span.end; ++s) load[s] += item.size;
    }
  }
  return *std::max_element(load.begin(), load.end());
}

bool is_valid(const Packing& packing, const std::vector<int32_t>& offsets, int32_t capacity) {
  for (size_t i = 0; i < offsets.size(); ++i) {
    const PackingItem& a = packing.items[i];
    if (offsets[i] < 0 || offsets[i] + a.size > capacity) return false;
    for (size_t k = 0; k < i; ++k) {
      const PackingItem& b = packing.items[k];
      const bool meet = a.begin() < b.end() && b.begin() < a.end();
      if (meet && offsets[i] < offsets[k] + b.size && offsets[k] < offsets[i] + a.size) return false;
    }
  }
  return true;
}

using Make = std::unique_ptr<ValleySearch> (*)(const Packing&, int32_t);

std::vector<Make> runnable_levels() {
  std::vector<Make> levels = {isa_v2::make_valley_search};
  if (cpu_isa() >= CpuIsa::x86_64_v3) levels.push_back(isa_v3::make_valley_search);
  if (cpu_isa() >= CpuIsa::x86_64_v4) levels.push_back(isa_v4::make_valley_search);
  return levels;
}

TEST(ValleySearch, EveryInstructionSetGivesTheSameResultAndWork) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Packing packing = random_packing(seed, 60, 40, 50);
    const int32_t capacity = fullest_section(packing);
    const SearchResult first =
        isa_v2::make_valley_search(packing, capacity)->run(largest_offsets(packing, capacity), {}, seed, 100'000);
    for (Make make : runnable_levels()) {
      const SearchResult other = make(packing, capacity)->run(largest_offsets(packing, capacity), {}, seed, 100'000);
      EXPECT_EQ(other.verdict, first.verdict);
      EXPECT_EQ(other.offsets, first.offsets);
      EXPECT_EQ(other.work, first.work);
    }
  }
}

TEST(ValleySearch, WideKeysTakeTheSameSteps) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Packing packing = random_packing(seed, 60, 40, 50);
    const int32_t capacity = fullest_section(packing);
    const auto offsets = largest_offsets(packing, capacity);
    const SearchResult narrow = make_valley_search(packing, capacity)->run(offsets, {}, seed, 100'000);
    const SearchResult wide = make_valley_search(packing, 1'000'000)->run(offsets, {}, seed, 100'000);
    EXPECT_EQ(wide.verdict, narrow.verdict);
    EXPECT_EQ(wide.offsets, narrow.offsets);
    EXPECT_EQ(wide.work, narrow.work);
  }
}

TEST(ValleySearch, FindsAtSomeCapacityAndThenAtEveryLarger) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Packing packing = random_packing(seed, 12, 8, 9);
    const int32_t bound = fullest_section(packing);
    bool found = false;
    for (int32_t capacity = bound - 1; capacity < bound + 8; ++capacity) {
      const auto search = make_valley_search(packing, capacity);
      const SearchResult result = search->run(largest_offsets(packing, capacity), {}, seed, 10'000'000);
      ASSERT_NE(result.verdict, SearchVerdict::stopped);
      EXPECT_TRUE(!found || result.verdict == SearchVerdict::found);
      if (result.verdict != SearchVerdict::found) continue;
      found = true;
      EXPECT_GE(capacity, bound);
      EXPECT_TRUE(is_valid(packing, result.offsets, capacity));
    }
    EXPECT_TRUE(found);
  }
}

TEST(ValleySearch, TheSameObjectAnswersForOtherCapacities) {
  const Packing packing = random_packing(4, 12, 8, 9);
  const int32_t bound = fullest_section(packing);
  const auto search = make_valley_search(packing, 2 * bound);
  for (int32_t capacity : {bound - 1, 2 * bound, bound - 1, bound + 8}) {
    const auto fresh = make_valley_search(packing, 2 * bound);
    const auto offsets = largest_offsets(packing, capacity);
    EXPECT_EQ(search->run(offsets, {}, 1, 1'000'000).offsets, fresh->run(offsets, {}, 1, 1'000'000).offsets);
  }
}

TEST(ValleySearch, StopsAtTheWorkLimit) {
  const Packing packing = random_packing(7, 200, 80, 900);
  const int32_t capacity = fullest_section(packing);
  const SearchResult result =
      make_valley_search(packing, capacity)->run(largest_offsets(packing, capacity), {}, 1, 5'000);
  EXPECT_EQ(result.verdict, SearchVerdict::stopped);
  EXPECT_LT(result.work, 10'000);
}

}  // namespace
}  // namespace tidemark::memory
