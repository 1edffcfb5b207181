#include "memory/recompute/arena_loosen.h"

#include <gtest/gtest.h>

#include "memory/recompute/random_step_trace.h"
#include "memory/recompute/recompute_planner.h"

namespace tidemark::memory {
namespace {

using recompute::Problem;

// Two values that the first two steps make are read at the end; in between, three steps with large workspaces.
StepTrace trace_with_a_full_middle() {
  StepTrace trace;
  trace.name = "middle";
  for (int64_t bytes : {30, 30, 1, 1, 1, 1}) {
    StepValue value;
    value.bytes = bytes;
    trace.values.push_back(value);
  }
  const auto add = [&](std::vector<int32_t> inputs, int32_t output, int64_t workspace_bytes) {
    Step step;
    step.cost = 10;
    step.inputs = std::move(inputs);
    step.outputs = {output};
    step.workspace_bytes = workspace_bytes;
    trace.steps.push_back(step);
  };
  add({}, 0, 0);
  add({}, 1, 0);
  add({}, 2, 38);
  add({2}, 3, 38);
  add({3}, 4, 38);
  add({0, 1, 4}, 5, 0);
  return trace;
}

TEST(Loosener, MakesAnIdleValueAgainBehindFullStages) {
  const StepTrace trace = trace_with_a_full_middle();
  const Problem problem(trace);
  Loosener loosener(problem, 100);
  const Loosener::Plan plain = loosener.plan_of(plain_order(trace));
  EXPECT_GT(plain.fullness, 2.5);  // 99 to 100 of 100 bytes in three stages
  LooseningOptions options;
  options.extra_cost_limit = 10;
  const Loosener::Plan loose = loosener.loosen(plain, options);
  EXPECT_EQ(loose.fullness, 0);
  EXPECT_EQ(loose.extra_cost, 10);
  const RecomputePlan plan = make_plan(trace, loosener.steps_of(loose), "test", 0);
  EXPECT_EQ(find_plan_fault(trace, plan), "");
  EXPECT_LE(plan.peak_live_bytes, 70 + 3);
  options.extra_cost_limit = 9;
  EXPECT_TRUE(loosener.loosen(plain, options).runs.empty());
}

TEST(Loosener, FixedBytesAreFullForAllPlans) {
  StepTrace trace = trace_with_a_full_middle();
  const double without = [&] {
    const Problem problem(trace);
    return Loosener(problem, 120).plan_of(plain_order(trace)).fullness;
  }();
  trace.fixed_bytes = 10'000;
  const Problem problem(trace);
  EXPECT_DOUBLE_EQ(Loosener(problem, 10'120).plan_of(plain_order(trace)).fullness, without);
}

TEST(Loosener, PlansStayWithinTheBudgetAndTheCost) {
  int looser = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomStepTraceOptions kind{seed, 40};
    kind.no_repeat_percent = kind.workspace_percent = kind.takes_over_percent = 15;
    const StepTrace trace = random_step_trace(kind);
    const int64_t budget = plain_peak(trace).bytes * 8 / 10;
    const RecomputePlan base = make_recompute_planner("search")->best_effort(trace, budget, {});
    if (base.peak_live_bytes > budget) continue;
    const Problem problem(trace);
    Loosener loosener(problem, static_cast<double>(budget));
    const Loosener::Plan start = loosener.plan_of(base.schedule.steps);
    EXPECT_EQ(loosener.steps_of(start), base.schedule.steps);
    EXPECT_EQ(start.extra_cost, static_cast<double>(base.extra_cost));
    LooseningOptions options;
    options.seed = seed;
    options.extra_cost_limit = static_cast<double>(base.extra_cost + total_cost(trace) / 50);
    const Loosener::Plan loose = loosener.loosen(start, options);
    const RecomputePlan plan = make_plan(trace, loosener.steps_of(loose), "test", 0);
    EXPECT_EQ(find_plan_fault(trace, plan), "");
    EXPECT_LE(plan.peak_live_bytes, budget);
    EXPECT_LE(static_cast<double>(plan.extra_cost), options.extra_cost_limit);
    EXPECT_LE(loose.fullness, start.fullness);
    looser += loose.fullness < 0.8 * start.fullness ? 1 : 0;
  }
  EXPECT_GE(looser, 6);
}

TEST(Loosener, SameSeedGivesTheSamePlanAndOthersOthers) {
  const StepTrace trace = random_step_trace({5, 80});
  const int64_t budget = plain_peak(trace).bytes * 7 / 10;
  const RecomputePlan base = make_recompute_planner("search")->best_effort(trace, budget, {});
  const Problem problem(trace);
  Loosener loosener(problem, static_cast<double>(budget));
  const Loosener::Plan start = loosener.plan_of(base.schedule.steps);
  LooseningOptions options;
  options.extra_cost_limit = static_cast<double>(base.extra_cost + total_cost(trace) / 20);
  options.moves = 300;
  const Loosener::Plan first = loosener.loosen(start, options);
  EXPECT_EQ(loosener.loosen(start, options).runs, first.runs);
  options.seed = 2;
  EXPECT_NE(loosener.loosen(start, options).runs, first.runs);
}

}  // namespace
}  // namespace tidemark::memory
