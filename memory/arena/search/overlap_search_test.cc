#include "memory/arena/search/overlap_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tidemark::memory {
namespace {

// Items that fill `sections` x `height` without a hole: strips of every height are cut in time at random.
Packing perfect_packing(uint64_t seed, int32_t sections, int32_t height) {
  std::mt19937_64 random(seed);
  Packing packing;
  packing.section_count = sections;
  for (int32_t bottom = 0; bottom < height;) {
    const int32_t size = std::min(height - bottom, 1 + static_cast<int32_t>(random() % 20));
    for (int32_t begin = 0; begin < sections;) {
      const int32_t end = std::min(sections, begin + 1 + static_cast<int32_t>(random() % 12));
      packing.items.push_back({size, 1, -1, {{begin, end}}});
      begin = end;
    }
    bottom += size;
  }
  std::stable_sort(packing.items.begin(), packing.items.end(),
                   [](const PackingItem& a, const PackingItem& b) { return a.begin() < b.begin(); });
  return packing;
}

std::vector<int32_t> largest_offsets(const Packing& packing, int32_t capacity) {
  std::vector<int32_t> result;
  for (const PackingItem& item : packing.items) {
    result.push_back(item.fixed_offset >= 0 ? item.fixed_offset : capacity - item.size);
  }
  return result;
}

bool meet(const PackingItem& a, const PackingItem& b) {
  for (const SectionSpan& x : a.spans) {
    for (const SectionSpan& y : b.spans) {
      if (x.begin < y.end && y.begin < x.end) return true;
    }
  }
  return false;
}

void expect_packing(const Packing& packing, const std::vector<int32_t>& offsets) {
  ASSERT_EQ(offsets.size(), packing.items.size());
  for (size_t i = 0; i < offsets.size(); ++i) {
    const PackingItem& a = packing.items[i];
    EXPECT_GE(offsets[i], 0);
    EXPECT_EQ(offsets[i] % a.alignment, 0);
    if (a.fixed_offset >= 0) {
      EXPECT_EQ(offsets[i], a.fixed_offset);
    }
    for (size_t k = 0; k < i; ++k) {
      const PackingItem& b = packing.items[k];
      EXPECT_FALSE(meet(a, b) && offsets[i] < offsets[k] + b.size && offsets[k] < offsets[i] + a.size);
    }
  }
}

int32_t top_of(const Packing& packing, const std::vector<int32_t>& offsets) {
  int32_t top = 0;
  for (size_t i = 0; i < offsets.size(); ++i) top = std::max(top, offsets[i] + packing.items[i].size);
  return top;
}

TEST(OverlapSearch, FindsPackingsCloseToAPerfectOne) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Packing packing = perfect_packing(seed, 60, 200);
    const OverlapResult result = search_overlaps(packing, largest_offsets(packing, 206), seed, 3'000'000);
    expect_packing(packing, result.offsets);
    EXPECT_LE(top_of(packing, result.offsets), 218);
  }
}

// Below the fullest section nothing fits; what comes back is a packing all the same.
TEST(OverlapSearch, AnImpossibleCapacityStillGivesAPacking) {
  const Packing packing = perfect_packing(7, 40, 100);
  const OverlapResult result = search_overlaps(packing, largest_offsets(packing, 95), 1, 400'000);
  expect_packing(packing, result.offsets);
  EXPECT_GE(top_of(packing, result.offsets), 100);
  EXPECT_LE(top_of(packing, result.offsets), 125);
  EXPECT_GE(result.work, 300'000);
  EXPECT_LE(result.work, 420'000);
}

TEST(OverlapSearch, KeepsAlignmentFixedOffsetsAndGaps) {
  Packing packing = perfect_packing(3, 40, 64);
  for (size_t i = 0; i < packing.items.size(); ++i) {
    PackingItem& item = packing.items[i];
    if (i % 3 == 0) item.alignment = 4;
    const SectionSpan span = item.spans[0];
    if (i % 5 == 0 && span.end - span.begin >= 3) item.spans = {{span.begin, span.begin + 1}, {span.end - 1, span.end}};
  }
  packing.items[0].fixed_offset = 8;
  const OverlapResult result = search_overlaps(packing, largest_offsets(packing, 90), 5, 1'000'000);
  expect_packing(packing, result.offsets);
  EXPECT_LE(top_of(packing, result.offsets), 100);
}

TEST(OverlapSearch, TheSameSeedGivesTheSamePacking) {
  const Packing packing = perfect_packing(4, 50, 150);
  const auto largest = largest_offsets(packing, 152);
  const OverlapResult once = search_overlaps(packing, largest, 9, 300'000);
  const OverlapResult again = search_overlaps(packing, largest, 9, 300'000);
  EXPECT_EQ(once.offsets, again.offsets);
  EXPECT_EQ(once.work, again.work);
}

}  // namespace
}  // namespace tidemark::memory
