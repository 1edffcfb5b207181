#include "memory/recompute/search/stage_list.h"

#include <gtest/gtest.h>

#include <iterator>
#include <set>

#include "memory/recompute/search/random.h"

namespace tidemark::memory::recompute {
namespace {

TEST(StageList, AnEmptyOneHasNoNeighbours) {
  const StageList list;
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.next_after(0), kNever);
  EXPECT_EQ(list.last_up_to(0), -1);
  EXPECT_EQ(list.back(), -1);
}

void expect_same(const StageList& list, const std::multiset<int32_t>& wanted, int32_t stages) {
  ASSERT_EQ(std::vector<int32_t>(list.begin(), list.end()), std::vector<int32_t>(wanted.begin(), wanted.end()));
  ASSERT_EQ(list.size(), static_cast<int32_t>(wanted.size()));
  ASSERT_EQ(list.back(), wanted.empty() ? -1 : *wanted.rbegin());
  for (int32_t stage = 0; stage < stages; ++stage) {
    const auto next = wanted.upper_bound(stage);
    const int32_t last = next == wanted.begin() ? -1 : *std::prev(next);
    ASSERT_EQ(list.next_after(stage), next == wanted.end() ? kNever : *next);
    ASSERT_EQ(list.last_up_to(stage), last);
    ASSERT_EQ(list.around(stage).last, list.last_up_to(stage));
    ASSERT_EQ(list.around(stage).next, list.next_after(stage));
  }
}

// From empty past the length at which the way of counting changes, and back; with repeats.
TEST(StageList, AgreesWithAMultiset) {
  constexpr int32_t kStages = 60;
  Random random(3);
  StageList list;
  std::multiset<int32_t> wanted;
  for (int i = 0; i < 400; ++i) {
    const bool grows = i < 200;
    if (wanted.empty() || (random.unit() < 0.75) == grows) {
      const auto stage = static_cast<int32_t>(random.below(kStages));
      list.insert(stage);
      wanted.insert(stage);
    } else {
      const auto gone = std::next(wanted.begin(), random.below(static_cast<int64_t>(wanted.size())));
      list.erase(*gone);
      wanted.erase(gone);
    }
    expect_same(list, wanted, kStages);
  }
}

}  // namespace
}  // namespace tidemark::memory::recompute
