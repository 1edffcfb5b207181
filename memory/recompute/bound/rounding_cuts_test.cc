#include "memory/recompute/bound/rounding_cuts.h"

#include <gtest/gtest.h>

#include "memory/recompute/search/random.h"

namespace tidemark::memory::recompute {
namespace {

constexpr int kVariables = 9;

// A knapsack, and a solution that fills it by the first items, the last of them in part.
struct Knapsack {
  LinearProgram program;
  std::vector<double> size;
  double room = 0;
  std::vector<double> solution;
};

Knapsack random_knapsack(uint64_t seed) {
  Random random(seed);
  Knapsack knapsack;
  std::vector<LinearProgram::Term> terms;
  double all = 0;
  for (int j = 0; j < kVariables; ++j) {
    knapsack.size.push_back(random.below(4) == 0 ? 0.01 : static_cast<double>(1 + random.below(4)));
    all += knapsack.size.back();
    terms.push_back({knapsack.program.add_variable(1), -knapsack.size.back()});
  }
  knapsack.room = all * 0.1 * static_cast<double>(2 + random.below(7)) + 0.3;
  knapsack.program.add_row(terms, -knapsack.room);
  double left = knapsack.room;
  for (double size : knapsack.size) {
    knapsack.solution.push_back(std::min(1.0, left / size));
    left -= knapsack.solution.back() * size;
  }
  return knapsack;
}

TEST(RoundingCuts, CutOffTheSolutionAndNothingWhole) {
  int cut = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Knapsack knapsack = random_knapsack(seed);
    for (const Cut& row : rounding_cuts(knapsack.program, 1, knapsack.solution)) {
      ++cut;
      EXPECT_GT(row.depth, 0);
      const auto left_side = [&](auto value) {
        double sum = 0;
        for (const LinearProgram::Term& term : row.terms) sum += term.factor * value(term.variable);
        return sum;
      };
      EXPECT_LT(left_side([&](int32_t j) { return knapsack.solution[j]; }), row.rhs);
      for (uint32_t set = 0; set < 1u << kVariables; ++set) {
        const auto chosen = [&](int32_t j) { return set >> j & 1 ? 1.0 : 0.0; };
        double bytes = 0;
        for (int j = 0; j < kVariables; ++j) bytes += chosen(j) * knapsack.size[j];
        if (bytes <= knapsack.room) {
          ASSERT_GE(left_side(chosen), row.rhs) << "set " << set;
        }
      }
    }
  }
  EXPECT_GT(cut, 80);
}

TEST(RoundingCuts, NothingToCutWhereTheSolutionIsWhole) {
  Knapsack knapsack = random_knapsack(3);
  knapsack.solution.assign(kVariables, 0);
  EXPECT_TRUE(rounding_cuts(knapsack.program, 1, knapsack.solution).empty());
}

}  // namespace
}  // namespace tidemark::memory::recompute
