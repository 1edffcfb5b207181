#include "memory/recompute/bound/branch_and_bound.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "memory/recompute/search/random.h"

namespace tidemark::memory::recompute {
namespace {

constexpr int64_t kWork = 50'000'000;
constexpr double kNone = 1e9;
constexpr int kVariables = 12;

// Covers with a knapsack over half of the variables, and a count of the others.
LinearProgram random_program(uint64_t seed) {
  Random random(seed);
  LinearProgram program;
  for (int j = 0; j < kVariables; ++j) program.add_variable(static_cast<double>(random.below(9)));
  for (int32_t a = 0; a < kVariables; ++a) {
    const int32_t b = (a + 1 + static_cast<int32_t>(random.below(3))) % kVariables;
    const int32_t c = (a + 5) % kVariables;
    if (random.below(2) == 0) {
      program.add_row({{a, 1}, {b, 1}}, 1);
    } else {
      program.add_row({{a, 1}, {b, 1}, {c, -1}}, 0);
    }
  }
  std::vector<LinearProgram::Term> terms;
  std::vector<int32_t> others;
  double all = 0;
  for (int32_t j = 0; j < kVariables; ++j) {
    if (j % 2 == 1) others.push_back(j);
    if (j % 2 == 1) continue;
    terms.push_back({j, -static_cast<double>(1 + random.below(6))});
    all -= terms.back().factor;
  }
  program.add_row(terms, -all * 0.1 * static_cast<double>(2 + random.below(6)));
  program.add_count_row(others);
  return program;
}

// By all points; kNone: none fulfils the rows.
double least_whole(const LinearProgram& program) {
  double least = kNone;
  for (uint32_t set = 0; set < 1u << program.variables(); ++set) {
    bool fulfils = true;
    for (int32_t r = 0; r < program.rows() && fulfils; ++r) {
      double sum = 0;
      for (int32_t i = program.row_starts()[r]; i < program.row_starts()[r + 1]; ++i)
        sum += (set >> program.all_terms()[i].variable & 1) != 0 ? program.all_terms()[i].factor : 0;
      fulfils = sum >= program.rhs()[r] - 1e-9;
    }
    double cost = 0;
    for (int32_t j = 0; j < program.variables(); ++j) cost += (set >> j & 1) != 0 ? program.costs()[j] : 0;
    if (fulfils) least = std::min(least, cost);
  }
  return least;
}

TEST(BranchAndBound, FindsTheOptimum) {
  int possible = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const LinearProgram program = random_program(seed);
    const double least = least_whole(program);
    const IntegerBound bound = branch_and_bound(program, {kWork, kNone, 0});
    EXPECT_TRUE(bound.solved);
    EXPECT_LE(bound.bound, least + 1e-6);
    EXPECT_GE(bound.bound, least == kNone ? kNone : least - 1e-3 * (1 + least));
    possible += least < kNone ? 1 : 0;
    if (least == kNone) continue;
    ASSERT_EQ(bound.solution.size(), static_cast<size_t>(program.variables()));
    double cost = 0;
    for (int32_t j = 0; j < program.variables(); ++j) cost += bound.solution[j] > 0.5 ? program.costs()[j] : 0;
    EXPECT_EQ(cost, least);
  }
  EXPECT_GT(possible, 30);
}

TEST(BranchAndBound, WhateverTheWorkAndTheGapItIsABound) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const LinearProgram program = random_program(seed);
    const double least = least_whole(program);
    for (int64_t work : {int64_t{0}, int64_t{300}, int64_t{3000}, int64_t{30'000}})
      EXPECT_LE(branch_and_bound(program, {work, kNone, 0}).bound, least + 1e-6);
    const IntegerBound coarse = branch_and_bound(program, {kWork, kNone, 0.1});
    EXPECT_LE(coarse.bound, least + 1e-6);
    EXPECT_GE(coarse.bound, least == kNone ? kNone : 0.89 * least);
  }
}

TEST(BranchAndBound, NeverAboveEnough) {
  int below = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const LinearProgram program = random_program(seed);
    const double least = least_whole(program);
    if (least == kNone || least < 2) continue;
    ++below;
    const IntegerBound bound = branch_and_bound(program, {kWork, least - 1, 0});
    EXPECT_TRUE(bound.solved);
    EXPECT_NEAR(bound.bound, least - 1, 1e-3);
  }
  EXPECT_GT(below, 20);
}

}  // namespace
}  // namespace tidemark::memory::recompute
