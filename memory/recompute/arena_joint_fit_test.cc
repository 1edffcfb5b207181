#include "memory/recompute/arena_joint_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "memory/recompute/joint_search.h"
#include "memory/recompute/random_step_trace.h"

namespace tidemark::memory {
namespace {

constexpr int64_t kAnyCost = std::numeric_limits<int64_t>::max();

StepTrace trace_of(uint64_t seed, int steps) {
  RandomStepTraceOptions kind{seed, steps};
  kind.workspace_percent = 20;
  kind.second_output_percent = seed % 2 == 0 ? 20 : 0;
  kind.takes_over_percent = seed % 3 == 0 ? 40 : 0;
  kind.overwrites_percent = seed % 5 == 0 ? 10 : 0;
  kind.persistent_percent = 10;
  kind.external_percent = 20;
  kind.result_percent = 10;
  return random_step_trace(kind);
}

class JointFit : public testing::Test {
 protected:
  JointFit() {
    options_.work_limit = 20'000;
    options_.bound_work_limit = 0;
    options_.offset_options.work_limit = 1'000'000;
  }

  RecomputePlan fit(const StepTrace& trace, int64_t budget_bytes, int64_t dearest) const {
    const RecomputePlan base = planner_->best_effort(trace, budget_bytes, options_);
    EXPECT_LE(base.peak_live_bytes, budget_bytes);
    return fit_jointly(*planner_, trace, budget_bytes, options_, base, dearest);
  }

  const std::unique_ptr<RecomputePlanner> planner_ = make_recompute_planner("search");
  RecomputeOptions options_;
};

// Of all kinds of steps and values, fixed bytes too.
TEST_F(JointFit, WhatItFindsIsASoundPlanWithinTheBudget) {
  int found = 0, recomputing = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    StepTrace trace = trace_of(seed, 40);
    trace.fixed_bytes = seed % 4 == 0 ? 1000 : 0;
    const int64_t free_bytes = plain_peak(trace).bytes - trace.fixed_bytes;
    const int64_t budget = trace.fixed_bytes + free_bytes * 85 / 100;
    if (planner_->best_effort(trace, budget, options_).peak_live_bytes > budget) continue;
    const RecomputePlan plan = fit(trace, budget, kAnyCost);
    if (plan.schedule.steps.empty()) continue;
    ++found;
    recomputing += plan.extra_cost > 0 ? 1 : 0;
    EXPECT_EQ(find_plan_fault(trace, plan), "") << "seed " << seed;
    EXPECT_LE(plan.peak_arena_bytes, budget) << "seed " << seed;
    EXPECT_GT(plan.work, 0);
  }
  EXPECT_GE(found, 7);
  EXPECT_GE(recomputing, 5);
}

TEST_F(JointFit, NothingDearerThanTheDearestIsFound) {
  int found = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const StepTrace trace = trace_of(seed, 40);
    const int64_t budget = plain_peak(trace).bytes * 85 / 100;
    const RecomputePlan base = planner_->best_effort(trace, budget, options_);
    if (base.peak_live_bytes > budget) continue;
    const int64_t dearest = base.extra_cost + total_cost(trace) / 50;
    const RecomputePlan plan = fit_jointly(*planner_, trace, budget, options_, base, dearest);
    if (plan.schedule.steps.empty()) continue;
    ++found;
    EXPECT_LE(plan.extra_cost, dearest) << "seed " << seed;
  }
  EXPECT_GE(found, 4);
}

TEST_F(JointFit, TheSameSeedGivesTheSamePlan) {
  const StepTrace trace = trace_of(1, 40);
  const int64_t budget = plain_peak(trace).bytes * 85 / 100;
  const RecomputePlan first = fit(trace, budget, kAnyCost), second = fit(trace, budget, kAnyCost);
  ASSERT_FALSE(first.schedule.steps.empty());
  EXPECT_EQ(first.schedule.steps, second.schedule.steps);
  EXPECT_EQ(first.offsets.offsets, second.offsets.offsets);
  EXPECT_EQ(first.work, second.work);
}

TEST_F(JointFit, ATraceThatIsTooLargeIsLeft) {
  const StepTrace trace = random_step_trace({1, JointSearch::kMostOwners});
  const recompute::Problem problem(trace);
  EXPECT_FALSE(JointSearch::can_take(problem, 1e6, 100));
  const int64_t budget = plain_peak(trace).bytes;
  const RecomputePlan plan = fit(trace, budget, kAnyCost);
  EXPECT_TRUE(plan.schedule.steps.empty());
  EXPECT_EQ(plan.work, 0);
}

TEST_F(JointFit, WithHardlyAnyWorkItIsNotTried) {
  options_.offset_options.work_limit = 500'000;
  const StepTrace trace = trace_of(1, 40);
  const RecomputePlan plan = fit(trace, plain_peak(trace).bytes * 85 / 100, kAnyCost);
  EXPECT_TRUE(plan.schedule.steps.empty());
  EXPECT_EQ(plan.work, 0);
}

TEST(JointSearch, TakesWhatHasFewUnits) {
  const recompute::Problem problem(random_step_trace({1, 20}));
  EXPECT_TRUE(JointSearch::can_take(problem, 1e4, 1));
  EXPECT_TRUE(JointSearch::can_take(problem, JointSearch::kMostUnits, 1));
  EXPECT_FALSE(JointSearch::can_take(problem, JointSearch::kMostUnits + 1, 1));
  EXPECT_FALSE(JointSearch::can_take(problem, 3, 4));
}

TEST(JointSearch, LeavesWhatIsNoLargerThanTheBudgetButForWholeUnits) {
  const recompute::Problem problem(random_step_trace({1, 20}));
  const double largest = *std::ranges::max_element(problem.bytes);
  ASSERT_GT(largest, 2);
  EXPECT_TRUE(JointSearch::can_take(problem, largest, 1));
  EXPECT_FALSE(JointSearch::can_take(problem, largest - 1, 1));
  EXPECT_FALSE(JointSearch::can_take(problem, largest, static_cast<int64_t>(largest) - 1));
}

// Where the plain step has room for its live bytes and, proven, no layout: only another schedule can help.
TEST(JointSearch, ChangesRunsWhereNoLayoutExists) {
  const std::unique_ptr<OffsetPlanner> exact = make_offset_planner("portfolio");
  OffsetPlannerOptions exact_options;
  exact_options.work_limit = 200'000;
  int impossible = 0, mended = 0;
  for (uint64_t seed = 1; seed <= 200 && impossible < 4; ++seed) {
    const StepTrace trace = random_step_trace({seed, 24});
    const int64_t budget = plain_peak(trace).bytes;
    const Schedule plain = make_schedule(trace, plain_order(trace));
    if (exact->fit(arena_trace(trace, plain), budget, exact_options).fit != Fit::impossible) continue;
    ++impossible;
    const recompute::Problem problem(trace);
    JointSearchOptions options;
    options.extra_cost_limit = problem.total_cost / 2;
    JointSearch search(problem, static_cast<double>(budget), {}, options);
    if (!search.advance(200'000)) continue;
    EXPECT_GT(search.extra_cost(), 0);
    ++mended;
  }
  EXPECT_EQ(impossible, 4);
  EXPECT_GE(mended, 2);
}

TEST(JointSearch, GetsCheaperFromWhereItStands) {
  const StepTrace trace = random_step_trace({5, 40});
  const recompute::Problem problem(trace);
  const auto budget = static_cast<double>(plain_peak(trace).bytes);
  // Everything that may runs once more, just before the last step.
  std::vector<recompute::Run> runs;
  for (int32_t step = 1; step + 2 < problem.step_count; step += 4)
    if (problem.may_repeat(step, problem.step_count - 2)) runs.push_back({problem.step_count - 2, step});
  JointSearchOptions options;
  options.extra_cost_limit = problem.total_cost;
  JointSearch search(problem, 2 * budget, runs, options);
  const double before = search.extra_cost();
  ASSERT_GT(before, 0);
  ASSERT_TRUE(search.lower_cost_limit(before / 2));
  EXPECT_LE(search.extra_cost(), before / 2);
  EXPECT_TRUE(search.advance(100'000));
  EXPECT_LE(search.extra_cost(), before / 2);
  EXPECT_FALSE(search.lower_cost_limit(-1));
}

}  // namespace
}  // namespace tidemark::memory
