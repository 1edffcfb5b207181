#include "memory/recompute/bound/checkpoint_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "memory/recompute/bound/branch_and_bound.h"
#include "memory/recompute/random_step_trace.h"

namespace tidemark::memory::recompute {
namespace {

constexpr int64_t kWork = 100'000'000;
constexpr double kNone = 1e9;

StepTrace training_step(uint64_t seed, int steps) {
  RandomStepTraceOptions options;
  options.seed = seed;
  options.steps = steps;
  return random_step_trace(options);
}

double budget_of(const StepTrace& trace, double share) {
  return std::floor(share * static_cast<double>(plain_peak(trace).bytes));
}

int32_t worst_stage(const Problem& problem, double budget) {
  const PlanState plain(problem, budget);
  const std::vector<double>& bytes = plain.stage_bytes();
  return static_cast<int32_t>(std::max_element(bytes.begin(), bytes.end()) - bytes.begin());
}

double optimum(const Problem& problem, double budget, const std::vector<int32_t>& stages, int64_t rerun_terms) {
  const CheckpointProgram program = make_checkpoint_program(problem, budget, stages, {1, kNone, rerun_terms});
  EXPECT_EQ(program.stages, stages);
  const IntegerBound bound = branch_and_bound(program.linear, {kWork, kNone, 0});
  EXPECT_TRUE(bound.solved);
  return bound.bound;
}

TEST(CheckpointProgram, AFurtherStageNeverTakesAway) {
  int more = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const StepTrace trace = training_step(seed, 60);
    const Problem problem(trace);
    const double budget = budget_of(trace, 0.5);
    const int32_t worst = worst_stage(problem, budget);
    const double one = optimum(problem, budget, {worst}, 0);
    for (int32_t later = worst + 1; later < problem.step_count; later += 5) {
      const double two = optimum(problem, budget, {worst, later}, 0);
      EXPECT_GE(two, 0.999 * one) << "with stage " << later;
      more += two > 1.01 * one ? 1 : 0;
    }
  }
  EXPECT_GE(more, 5);
}

// At d only one of a and b has room beside c and d. To make a again is cheap, but does not fit beside b and d.
TEST(CheckpointProgram, RepeatedRunsNeedRoomToo) {
  StepTrace trace;
  const std::vector<std::vector<int32_t>> inputs = {{}, {0}, {1}, {2}, {0, 3}, {1}};
  for (int32_t i = 0; i < 6; ++i) {
    Step step;
    step.cost = i == 0 ? 1 : 5;
    step.workspace_bytes = i == 0 ? 5 : 0;
    step.inputs = inputs[i];
    step.outputs = {i};
    trace.steps.push_back(step);
    trace.values.push_back({i < 4 ? 10 : 0});
  }
  const Problem problem(trace);
  EXPECT_NEAR(optimum(problem, 30, {4, 5}, 0), 1, 1e-3);
  EXPECT_NEAR(optimum(problem, 30, {4, 5}, 1000), 5, 1e-3);
  EXPECT_NEAR(optimum(problem, 35, {4, 5}, 1000), 1, 1e-3);
}

// a -> b -> c -> d -> e(a, d): to keep within the budget at d, a must go, and run again for e.
TEST(CheckpointProgram, WhatDoesNotFitIsMadeAgain) {
  StepTrace trace;
  for (int i = 0; i < 5; ++i) {
    Step step;
    step.cost = i == 0 ? 7 : 1;
    if (i > 0) step.inputs = {i - 1};
    if (i == 4) step.inputs.push_back(0);
    step.outputs = {i};
    trace.steps.push_back(step);
    trace.values.push_back({i == 4 ? 0 : 10});
  }
  const Problem problem(trace);
  EXPECT_NEAR(optimum(problem, 29, {4}, 0), 7, 1e-3);
  EXPECT_NEAR(optimum(problem, 30, {4}, 0), 0, 1e-3);
  // Where it may not run again there is no solution.
  trace.steps[0].may_run_twice = false;
  EXPECT_EQ(optimum(Problem(trace), 29, {4}, 0), kNone);
  // Steps above the known cost are not made again.
  trace.steps[0].may_run_twice = true;
  const CheckpointProgram program = make_checkpoint_program(problem, 29, {4}, {1, 6, 0});
  EXPECT_EQ(branch_and_bound(program.linear, {kWork, 6, 0}).bound, 6);
}

}  // namespace
}  // namespace tidemark::memory::recompute
