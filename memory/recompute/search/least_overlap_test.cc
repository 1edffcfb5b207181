#include "memory/recompute/search/least_overlap.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "memory/recompute/search/random.h"

namespace tidemark::memory::recompute {
namespace {

struct Neighbour {
  int32_t offset, size, weight;
};

int64_t cost_at(int32_t offset, int32_t size, const std::vector<Neighbour>& neighbours) {
  int64_t cost = 0;
  for (const Neighbour& n : neighbours) {
    const int32_t shared = std::min({offset + size - n.offset, n.offset + n.size - offset, size, n.size});
    cost += int64_t{n.weight} * std::max(shared, 0);
  }
  return cost;
}

TEST(LeastOverlap, IsAsLowAsAnyPlaceOnTheGroundOrAtANeighbourHas) {
  constexpr int32_t kCapacity = 130;
  Random random(1);
  const auto number = [&](int32_t low, int32_t high) {
    return static_cast<int32_t>(low + random.below(high - low + 1));
  };
  LeastOverlap least(kCapacity);
  int with_overlap = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<Neighbour> neighbours;
    for (int32_t i = number(0, 12); i > 0; --i) {
      const int32_t size = number(1, round % 7 == 0 ? kCapacity : 40);
      neighbours.push_back({number(0, kCapacity - size), size, number(1, 5)});
    }
    const int32_t size = number(1, round % 5 == 0 ? kCapacity : 60);
    least.begin(size);
    for (const Neighbour& n : neighbours) least.add_neighbour(n.offset, n.size, n.weight);
    const LeastOverlap::Best best = least.best([&](int64_t n) { return random.below(n); });
    ASSERT_GE(best.offset, 0);
    ASSERT_LE(best.offset, kCapacity - size);
    ASSERT_EQ(best.cost, cost_at(best.offset, size, neighbours)) << "round " << round;
    std::vector<int32_t> places{0};
    for (const Neighbour& n : neighbours) places.insert(places.end(), {n.offset - size, n.offset + n.size});
    for (int32_t offset : places) {
      if (offset < 0 || offset > kCapacity - size) continue;
      ASSERT_LE(best.cost, cost_at(offset, size, neighbours)) << "round " << round << " offset " << offset;
    }
    // Nothing overlaps anywhere: that is always found.
    for (int32_t offset = 0; offset <= kCapacity - size && best.cost > 0; ++offset)
      ASSERT_GT(cost_at(offset, size, neighbours), 0) << "round " << round << " offset " << offset;
    with_overlap += best.cost > 0 ? 1 : 0;
  }
  EXPECT_GT(with_overlap, 500);
}

}  // namespace
}  // namespace tidemark::memory::recompute
