#include "memory/recompute/bound/dual_simplex.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "memory/recompute/search/random.h"

namespace tidemark::memory::recompute {
namespace {

constexpr int64_t kWork = 50'000'000;
constexpr double kNoLimit = 1e300;

// Like a checkpoint program: covers of two or three, and a few knapsacks.
LinearProgram random_program(uint64_t seed, int variables) {
  Random random(seed);
  LinearProgram program;
  for (int j = 0; j < variables; ++j) program.add_variable(static_cast<double>(random.below(20)));
  for (int r = 0; r < variables; ++r) {
    const auto a = static_cast<int32_t>(random.below(variables));
    const int32_t b = (a + 1 + static_cast<int32_t>(random.below(variables - 1))) % variables;
    const int32_t c = (std::max(a, b) + 1) % variables;
    if (c == a || c == b || random.below(3) == 0) {
      program.add_row({{a, 1}, {b, 1}}, 1);
    } else {
      program.add_row({{a, 1}, {b, 1}, {c, -1}}, 0);
    }
  }
  for (int k = 0; k < 2; ++k) {
    std::vector<LinearProgram::Term> terms;
    double all = 0;
    for (int j = k; j < variables; j += 2) {
      terms.push_back({j, -0.1 * static_cast<double>(1 + random.below(10))});
      all -= terms.back().factor;
    }
    program.add_row(terms, -all * 0.1 * static_cast<double>(1 + random.below(8)));
  }
  return program;
}

void expect_feasible(const LinearProgram& program, const Box& box, const DualSimplex& simplex) {
  for (int32_t j = 0; j < program.variables(); ++j) {
    EXPECT_GE(simplex.value(j), box.variables[j] == Fixing::one ? 1 - 1e-6 : -1e-6);
    EXPECT_LE(simplex.value(j), box.variables[j] == Fixing::zero ? 1e-6 : 1 + 1e-6);
  }
  for (int32_t r = 0; r < program.rows(); ++r) {
    double sum = -program.rhs()[r];
    for (int32_t i = program.row_starts()[r]; i < program.row_starts()[r + 1]; ++i)
      sum += program.all_terms()[i].factor * simplex.value(program.all_terms()[i].variable);
    EXPECT_GE(sum, -1e-5) << "row " << r;
  }
}

// A feasible solution that costs what the multipliers prove is optimal.
void expect_optimal(const LinearProgram& program, const Box& box, DualSimplex& simplex) {
  expect_feasible(program, box, simplex);
  double cost = 0;
  for (int32_t j = 0; j < program.variables(); ++j) cost += program.costs()[j] * simplex.value(j);
  std::vector<double> reduced;
  EXPECT_NEAR(bound_of_multipliers(program, box, simplex.multipliers(), reduced), cost, 1e-3 * (1 + cost));
}

void expect_ray(const LinearProgram& program, const Box& box, DualSimplex& simplex) {
  std::vector<double> w = simplex.multipliers();
  const std::vector<double> ray = simplex.ray();
  for (size_t r = 0; r < w.size(); ++r) w[r] += 1e6 * ray[r];
  std::vector<double> reduced;
  EXPECT_GT(bound_of_multipliers(program, box, w, reduced), 1e4);
}

TEST(DualSimplex, OptimaAndRaysProveThemselves) {
  int optimal = 0;
  int infeasible = 0;
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const LinearProgram program = random_program(seed, 6 + static_cast<int>(seed % 60));
    const Box box = whole_box(program);
    DualSimplex simplex(program);
    const DualSimplex::End end = simplex.run(kNoLimit, kWork);
    ASSERT_TRUE(end == DualSimplex::End::optimal || end == DualSimplex::End::infeasible);
    (end == DualSimplex::End::optimal ? optimal : infeasible) += 1;
    if (end == DualSimplex::End::optimal) {
      expect_optimal(program, box, simplex);
    } else {
      expect_ray(program, box, simplex);
    }
  }
  EXPECT_GT(optimal, 30);
  EXPECT_GT(infeasible, 5);
}

TEST(DualSimplex, OtherBoxesFromTheSameState) {
  int optimal = 0;
  int infeasible = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const LinearProgram program = random_program(seed, 10 + static_cast<int>(seed % 90));
    DualSimplex simplex(program);
    if (simplex.run(kNoLimit, kWork) != DualSimplex::End::optimal) continue;
    const DualSimplex::State state = simplex.save();
    for (int32_t j = 0; j < 8; ++j) {
      Box box = whole_box(program);
      box.variables[j] = simplex.value(j) > 0.5 ? Fixing::zero : Fixing::one;
      simplex.restore(state);
      simplex.set_box(box);
      if (simplex.run(kNoLimit, kWork) == DualSimplex::End::optimal) {
        ++optimal;
        expect_optimal(program, box, simplex);
      } else {
        ++infeasible;
        expect_ray(program, box, simplex);
      }
    }
  }
  EXPECT_GT(optimal, 100);
  EXPECT_GT(infeasible, 5);
}

TEST(DualSimplex, CountsAreNarrowed) {
  LinearProgram program;
  std::vector<int32_t> all;
  for (int j = 0; j < 5; ++j) all.push_back(program.add_variable(j + 1));
  program.add_row({{0, 1}, {1, 1}}, 1);
  program.add_count_row(all);
  Box box = whole_box(program);
  EXPECT_EQ(box.counts.at(0).high, 5);
  box.counts[0].low = 3;
  DualSimplex simplex(program);
  simplex.set_box(box);
  ASSERT_EQ(simplex.run(kNoLimit, kWork), DualSimplex::End::optimal);
  expect_optimal(program, box, simplex);
  EXPECT_NEAR(simplex.cost(), 1 + 2 + 3, 1e-3);
  box.counts[0] = {0, 0};
  simplex.set_box(box);
  ASSERT_EQ(simplex.run(kNoLimit, kWork), DualSimplex::End::infeasible);
  expect_ray(program, box, simplex);
}

TEST(DualSimplex, StopsAtEnoughAndAtTheEndOfTheWork) {
  const LinearProgram program = random_program(8, 40);
  DualSimplex simplex(program);
  ASSERT_EQ(simplex.run(kNoLimit, kWork), DualSimplex::End::optimal);
  const double cost = simplex.cost();
  DualSimplex half(program);
  EXPECT_EQ(half.run(cost / 2, kWork), DualSimplex::End::enough);
  DualSimplex tired(program);
  EXPECT_EQ(tired.run(kNoLimit, 0), DualSimplex::End::out_of_work);
}

}  // namespace
}  // namespace tidemark::memory::recompute
