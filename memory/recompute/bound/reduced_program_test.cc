#include "memory/recompute/bound/reduced_program.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "memory/recompute/search/random.h"

namespace tidemark::memory::recompute {
namespace {

constexpr int kVariables = 10;
constexpr double kNone = 1e9;

LinearProgram random_program(Random& random) {
  LinearProgram program;
  std::vector<LinearProgram::Term> sizes;
  for (int32_t j = 0; j < kVariables; ++j) {
    program.add_variable(static_cast<double>(random.below(9)));
    sizes.push_back({j, -static_cast<double>(1 + random.below(5))});
  }
  for (int32_t a = 0; a < kVariables; a += 2)
    program.add_row({{a, 1}, {(a + 3) % kVariables, 1}, {(a + 4) % kVariables, -1}}, random.below(2) == 0 ? 0 : 1);
  program.add_count_row({0, 1, 2, 3});
  program.add_row(sizes, -static_cast<double>(14 + random.below(15)));
  return program;
}

bool fulfils(const LinearProgram& program, const std::vector<double>& z) {
  for (int32_t r = 0; r < program.rows(); ++r) {
    double sum = 0;
    for (int32_t i = program.row_starts()[r]; i < program.row_starts()[r + 1]; ++i)
      sum += program.all_terms()[i].factor * z[program.all_terms()[i].variable];
    if (sum < program.rhs()[r] - 1e-9) return false;
  }
  return true;
}

// The least cost of all points that fulfil the rows, and such a point.
double least(const LinearProgram& program, const Box& box, std::vector<double>& best) {
  double cost_of_best = kNone;
  for (uint32_t set = 0; set < 1u << program.variables(); ++set) {
    std::vector<double> z(program.variables());
    bool inside = true;
    double cost = 0;
    for (int32_t j = 0; j < program.variables(); ++j) {
      z[j] = set >> j & 1;
      cost += z[j] * program.costs()[j];
      if (box.variables[j] != Fixing::free) inside = inside && (box.variables[j] == Fixing::one) == (z[j] > 0);
    }
    if (!inside || cost >= cost_of_best || !fulfils(program, z)) continue;
    cost_of_best = cost;
    best = z;
  }
  return cost_of_best;
}

TEST(ReducedProgram, HasTheOptimumOfTheBox) {
  int possible = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const LinearProgram program = random_program(random);
    Box box = whole_box(program);
    for (int i = 0; i < 3; ++i)
      box.variables[random.below(kVariables)] = random.below(3) == 0 ? Fixing::zero : Fixing::one;
    const ReducedProgram reduced = reduced_program(program, box);
    EXPECT_EQ(reduced.linear.variables(), std::count(box.variables.begin(), box.variables.end(), Fixing::free));
    EXPECT_LE(reduced.linear.rows(), program.rows());
    std::vector<double> best, best_of_reduced;
    const double expected = least(program, box, best);
    const double found = least(reduced.linear, whole_box(reduced.linear), best_of_reduced);
    EXPECT_EQ(found == kNone ? kNone : found + reduced.fixed_cost, expected);
    if (expected == kNone) continue;
    ++possible;
    const std::vector<double> whole = reduced.whole_solution(best_of_reduced, box);
    EXPECT_TRUE(fulfils(program, whole));
    double cost = 0;
    for (int32_t j = 0; j < kVariables; ++j) cost += whole[j] * program.costs()[j];
    EXPECT_EQ(cost, expected);
  }
  EXPECT_GT(possible, 20);
}

TEST(ReducedProgram, LeavesOutRowsThatAlwaysHold) {
  LinearProgram program;
  for (int j = 0; j < 3; ++j) program.add_variable(1);
  program.add_row({{0, 1}, {1, 1}}, 1);
  program.add_row({{1, 1}, {2, 1}}, 1);
  Box box = whole_box(program);
  box.variables[0] = Fixing::one;
  EXPECT_EQ(reduced_program(program, box).linear.rows(), 1);
  box.variables[2] = Fixing::zero;
  EXPECT_EQ(reduced_program(program, box).linear.rhs(), std::vector<double>{1});
}

}  // namespace
}  // namespace tidemark::memory::recompute
