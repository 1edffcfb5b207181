#include "memory/recompute/bound/implied_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "memory/recompute/bound/branch_and_bound.h"
#include "memory/recompute/random_step_trace.h"

namespace tidemark::memory::recompute {
namespace {

constexpr double kNone = 1e9;

struct Case {
  StepTrace trace;
  Problem problem;
  double budget = 0;
  std::vector<int32_t> stages;

  explicit Case(uint64_t seed) : trace(training_step(seed)), problem(trace) {
    budget = std::floor(0.6 * static_cast<double>(plain_peak(trace).bytes));
    const PlanState plain(problem, budget);
    const auto worst = std::max_element(plain.stage_bytes().begin(), plain.stage_bytes().end());
    stages = {static_cast<int32_t>(worst - plain.stage_bytes().begin())};
  }

  static StepTrace training_step(uint64_t seed) {
    RandomStepTraceOptions options;
    options.seed = seed;
    options.steps = 40;
    options.workspace_percent = 20;
    options.second_output_percent = 20;
    return random_step_trace(options);
  }

  // Runs of an optimum; empty where there is none.
  std::vector<recompute::Run> runs() const {
    const CheckpointProgram program = make_checkpoint_program(problem, budget, stages, {1, kNone, 0});
    const IntegerBound bound = branch_and_bound(program.linear, {100'000'000, kNone, 0});
    return bound.bound < kNone ? implied_runs(problem, program, bound.solution) : std::vector<recompute::Run>();
  }
};

TEST(ImpliedPlan, CountsWhatThePlanHolds) {
  int plans = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Case c(seed);
    const std::vector<recompute::Run> runs = c.runs();
    plans += runs.empty() ? 0 : 1;
    PlanState plan(c.problem, c.budget);
    plan.assign(runs);
    plan.settle();
    const StageBytes bytes = bytes_of_runs(c.problem, runs);
    for (int32_t t = 0; t < c.problem.step_count; ++t)
      EXPECT_EQ(std::max(bytes.base[t], bytes.again[t]), plan.stage_bytes()[t]) << "stage " << t;
    for (int32_t t : c.stages)
      if (!runs.empty()) {
        EXPECT_LE(bytes.base[t], c.budget);
      }
  }
  EXPECT_GT(plans, 10);
}

TEST(FurtherStages, AreOnesWhereThePlanIsAboveTheBudget) {
  int found = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Case c(seed);
    const StageBytes bytes = bytes_of_runs(c.problem, c.runs());
    for (size_t most : {1u, 3u, 8u}) {
      const auto sets = further_stages(bytes, c.budget, c.stages, most);
      EXPECT_LE(sets.size(), most);
      found += sets.empty() ? 0 : 1;
      for (const std::vector<int32_t>& set : sets) {
        ASSERT_FALSE(set.empty());
        EXPECT_TRUE(std::none_of(set.begin(), set.end(), [&](int32_t t) { return t == c.stages[0]; }));
        const auto is_above = [&](int32_t t) { return std::max(bytes.base[t], bytes.again[t]) > c.budget; };
        // Of a pair whose second stage is known the first alone is left.
        const bool follows = set.back() == c.stages[0] - 1 && is_above(c.stages[0]);
        EXPECT_TRUE(is_above(set.back()) || follows);
      }
    }
    EXPECT_TRUE(further_stages(bytes, 1e12, c.stages, 8).empty());
  }
  EXPECT_GT(found, 10);
}

}  // namespace
}  // namespace tidemark::memory::recompute
