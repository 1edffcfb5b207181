// Every planner of the list is held to the same rules; a new one joins by its line in planner_list.cc.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "memory/recompute/exhaustive_schedules.h"
#include "memory/recompute/overhead_bound.h"
#include "memory/recompute/random_step_trace.h"
#include "memory/recompute/recompute_planner.h"

namespace tidemark::memory {
namespace {

RecomputeOptions small_effort() {
  RecomputeOptions options;
  options.work_limit = 500;
  options.offset_options.work_limit = 20'000;
  return options;
}

// Plain, one feature each, and all together.
std::vector<RandomStepTraceOptions> trace_kinds(uint64_t seed, int steps) {
  RandomStepTraceOptions plain;
  plain.seed = seed;
  plain.steps = steps;
  std::vector<RandomStepTraceOptions> kinds(8, plain);
  kinds[1].no_repeat_percent = 30;
  kinds[2].workspace_percent = 40;
  kinds[3].second_output_percent = 40;
  kinds[4].takes_over_percent = 50;
  kinds[5].overwrites_percent = 30;
  kinds[6].persistent_percent = kinds[6].result_percent = 20;
  kinds[6].external_percent = 30;
  kinds[7] = {seed, steps, 100, 50, true, 10, 20, 20, 20, 10, 10, 20, 10};
  return kinds;
}

std::string describe(const RandomStepTraceOptions& o, double share) {
  return "seed " + std::to_string(o.seed) + ", steps " + std::to_string(o.steps) + ", no repeat " +
         std::to_string(o.no_repeat_percent) + " %, workspace " + std::to_string(o.workspace_percent) +
         " %, second output " + std::to_string(o.second_output_percent) + " %, takes over " +
         std::to_string(o.takes_over_percent) + " %, overwrites " + std::to_string(o.overwrites_percent) +
         " %, persistent " + std::to_string(o.persistent_percent) + " %, budget share " + std::to_string(share);
}

int64_t share_of(int64_t bytes, double share) { return static_cast<int64_t>(static_cast<double>(bytes) * share); }

class RecomputeConformance : public testing::TestWithParam<std::string> {
 protected:
  const std::unique_ptr<RecomputePlanner> planner_ = make_recompute_planner(GetParam());
};

TEST_P(RecomputeConformance, SchedulesAreValidAndFiguresTrue) {
  for (uint64_t seed = 1; seed <= 12; ++seed)
    for (const RandomStepTraceOptions& kind : trace_kinds(seed, 4 + static_cast<int>(seed) * 3))
      for (double share : {1.0, 0.9, 0.75, 0.5}) {
        SCOPED_TRACE(describe(kind, share));
        const StepTrace trace = random_step_trace(kind);
        const int64_t budget = share_of(plain_peak(trace).bytes, share);
        const RecomputePlan plan = planner_->best_effort(trace, budget, small_effort());
        ASSERT_EQ(find_plan_fault(trace, plan), "");
        EXPECT_GE(plan.peak_live_bytes, least_conceivable_peak(trace).bytes);
      }
}

TEST_P(RecomputeConformance, WhatFitsAsItStandsCostsNothing) {
  for (uint64_t seed = 1; seed <= 12; ++seed)
    for (const RandomStepTraceOptions& kind : trace_kinds(seed, 25)) {
      SCOPED_TRACE(describe(kind, 1));
      const StepTrace trace = random_step_trace(kind);
      const RecomputePlan plan = planner_->plan(trace, plain_peak(trace).bytes, small_effort());
      EXPECT_EQ(plan.extra_cost, 0);
      EXPECT_EQ(plan.overhead, 0);
    }
}

TEST_P(RecomputeConformance, NeverBetterThanAllSchedules) {
  for (uint64_t seed = 1; seed <= 20; ++seed)
    for (const RandomStepTraceOptions& kind : trace_kinds(seed, seed % 10 == 0 ? 5 : 4)) {
      const StepTrace trace = random_step_trace(kind);
      for (const ExhaustivePoint& point : exhaustive_frontier(trace)) {
        SCOPED_TRACE(describe(kind, 0) + ", budget " + std::to_string(point.peak_bytes));
        const RecomputePlan plan = planner_->best_effort(trace, point.peak_bytes, small_effort());
        if (plan.peak_live_bytes <= point.peak_bytes) {
          EXPECT_GE(plan.extra_cost, point.extra_cost);
        }
      }
    }
}

TEST(ExtraCostLowerBound, IsNeverAboveTheLeastCost) {
  int tight = 0;
  int points = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed)
    for (const RandomStepTraceOptions& kind : trace_kinds(seed, seed % 10 == 0 ? 5 : 4)) {
      const StepTrace trace = random_step_trace(kind);
      for (const ExhaustivePoint& point : exhaustive_frontier(trace)) {
        SCOPED_TRACE(describe(kind, 0) + ", budget " + std::to_string(point.peak_bytes));
        const int64_t bound = extra_cost_lower_bound(trace, point.peak_bytes);
        ASSERT_LE(bound, point.extra_cost);
        tight += bound == point.extra_cost ? 1 : 0;
        ++points;
      }
    }
  EXPECT_GT(tight, points / 2);  // a bound that says nothing would pass the rest
}

TEST_P(RecomputeConformance, BudgetHoldsForTheArena) {
  const std::unique_ptr<OffsetPlanner> offsets = make_offset_planner("size_best_fit");
  RecomputeOptions options = small_effort();
  options.offset_planner = offsets.get();
  for (uint64_t seed = 1; seed <= 6; ++seed)
    for (const RandomStepTraceOptions& kind : trace_kinds(seed, 20)) {
      SCOPED_TRACE(describe(kind, 0.9));
      const StepTrace trace = random_step_trace(kind);
      const int64_t budget = share_of(plain_peak(trace).bytes, 0.9);
      try {
        const RecomputePlan plan = planner_->plan(trace, budget, options);
        EXPECT_LE(plan.peak_arena_bytes, budget);
        EXPECT_EQ(find_plan_fault(trace, plan), "");
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
      }
    }
}

TEST_P(RecomputeConformance, SameInputGivesTheSamePlan) {
  const StepTrace trace = random_step_trace({7, 60});
  const int64_t budget = share_of(plain_peak(trace).bytes, 0.8);
  const RecomputePlan first = planner_->best_effort(trace, budget, small_effort());
  const RecomputePlan second = planner_->best_effort(trace, budget, small_effort());
  EXPECT_EQ(first.schedule.steps, second.schedule.steps);
  EXPECT_EQ(first.work, second.work);
}

TEST_P(RecomputeConformance, EmptyTraceHasAnEmptyPlan) {
  const RecomputePlan plan = planner_->plan(StepTrace{"empty", {}, {}, 0}, 0, small_effort());
  EXPECT_TRUE(plan.schedule.steps.empty());
  EXPECT_EQ(plan.peak_live_bytes, 0);
}

TEST_P(RecomputeConformance, RefusalNamesTheLeastBudgetAndItsStep) {
  const StepTrace trace = random_step_trace({3, 12});
  const LivePeak least = least_conceivable_peak(trace);
  try {
    planner_->plan(trace, least.bytes - 1, small_effort());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    const std::string text = error.what();
    EXPECT_NE(text.find("no schedule within " + std::to_string(least.bytes - 1) + " bytes"), std::string::npos) << text;
    EXPECT_NE(text.find("the least budget that '" + GetParam() + "' reaches is "), std::string::npos) << text;
    EXPECT_NE(text.find("less than " + std::to_string(least.bytes) + " bytes, for step " + std::to_string(least.step)),
              std::string::npos)
        << text;
  }
}

TEST_P(RecomputeConformance, EndsWhereHardlyAnythingMayRepeat) {
  for (int no_repeat_percent : {60, 90, 100})
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      RandomStepTraceOptions kind;
      kind.seed = seed;
      kind.steps = 30;
      kind.no_repeat_percent = no_repeat_percent;
      kind.workspace_percent = 30;
      const StepTrace trace = random_step_trace(kind);
      for (double share : {0.95, 0.8, 0.5}) {
        SCOPED_TRACE(describe(kind, share));
        const RecomputePlan plan =
            planner_->best_effort(trace, share_of(plain_peak(trace).bytes, share), small_effort());
        EXPECT_EQ(find_plan_fault(trace, plan), "");
      }
    }
}

TEST_P(RecomputeConformance, BadTracesAreRefused) {
  StepTrace trace = random_step_trace({1, 6});
  trace.steps[2].cost = -1;
  EXPECT_THROW(planner_->plan(trace, 1000, small_effort()), Error);
}

std::vector<std::string> planner_names() {
  std::vector<std::string> names;
  for (const auto& planner : all_recompute_planners()) names.emplace_back(planner->name());
  return names;
}

INSTANTIATE_TEST_SUITE_P(AllPlanners, RecomputeConformance, testing::ValuesIn(planner_names()),
                         [](const auto& info) { return info.param; });

TEST(RecomputePlannerList, NamesAreUniqueAndTheRecommendedIsFirst) {
  std::vector<std::string> names = planner_names();
  EXPECT_EQ(names.front(), "search");
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(RecomputePlannerList, UnknownNameListsTheKnown) {
  try {
    make_recompute_planner("magic");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::config);
    EXPECT_STREQ(error.what(), "no recompute planner 'magic'; known are search, chain, dtr, segment_sqrt, none");
  }
}

}  // namespace
}  // namespace tidemark::memory
