#include "memory/recompute/search/dual_bound.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "memory/recompute/search/random.h"

namespace tidemark::memory::recompute {
namespace {

constexpr int64_t kWork = 5'000'000;

// Cover at least `needed` at the least cost: cost[i] for size[i].
struct Cover {
  std::vector<double> cost;
  std::vector<double> size;
  double needed = 0;

  LinearProgram program() const {
    LinearProgram program;
    std::vector<LinearProgram::Term> terms;
    for (size_t i = 0; i < cost.size(); ++i) terms.push_back({program.add_variable(cost[i]), size[i]});
    program.add_row(terms, needed);
    return program;
  }

  // By the best ratios, the last in part.
  double least_linear() const {
    std::vector<size_t> order(cost.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return cost[a] * size[b] < cost[b] * size[a]; });
    double left = needed;
    double sum = 0;
    for (size_t i : order) {
      const double part = std::clamp(left / size[i], 0.0, 1.0);
      sum += part * cost[i];
      left -= part * size[i];
    }
    return sum;
  }

  // By all subsets.
  double least_whole() const {
    double least = 1e300;
    for (uint32_t set = 0; set < (1u << cost.size()); ++set) {
      double sum = 0;
      double covered = 0;
      for (size_t i = 0; i < cost.size(); ++i)
        if ((set >> i & 1) != 0) {
          sum += cost[i];
          covered += size[i];
        }
      if (covered >= needed) least = std::min(least, sum);
    }
    return least;
  }
};

Cover random_cover(uint64_t seed) {
  Random random(seed);
  Cover cover;
  double all = 0;
  for (int i = 0; i < 9; ++i) {
    cover.cost.push_back(static_cast<double>(1 + random.below(20)));
    cover.size.push_back(static_cast<double>(1 + random.below(9)));
    all += cover.size.back();
  }
  cover.needed = static_cast<double>(1 + random.below(static_cast<int64_t>(all)));
  return cover;
}

TEST(DualBound, ReachesTheOptimumOfTheLinearProgramAndStaysBelow) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Cover cover = random_cover(seed);
    const double bound = dual_bound(cover.program(), kWork, 1e300);
    EXPECT_LE(bound, cover.least_linear() + 1e-6);
    EXPECT_GE(bound, 0.99 * cover.least_linear());
  }
}

TEST(IntegerBound, IsBetweenTheLinearAndTheWholeOptimum) {
  int proven = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Cover cover = random_cover(seed);
    const double whole = cover.least_whole();
    const double bound = integer_bound(cover.program(), 10 * kWork, whole - 0.5);
    EXPECT_LE(bound, whole);
    EXPECT_GE(bound, std::min(whole - 0.5, 0.99 * cover.least_linear()));
    proven += bound >= whole - 0.5 ? 1 : 0;
    const double free_bound = integer_bound(cover.program(), kWork, 1e300);
    EXPECT_LE(free_bound, whole + 1e-6);
  }
  EXPECT_GE(proven, 35);
}

TEST(IntegerBound, LittleWorkStillGivesABound) {
  const Cover cover = random_cover(3);
  EXPECT_LE(integer_bound(cover.program(), 1, 1e300), cover.least_whole());
  EXPECT_LE(dual_bound(cover.program(), 0, 1e300), cover.least_linear());
}

}  // namespace
}  // namespace tidemark::memory::recompute
