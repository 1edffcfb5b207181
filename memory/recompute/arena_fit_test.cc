#include "memory/recompute/arena_fit.h"

#include <gtest/gtest.h>

#include "memory/recompute/random_step_trace.h"

namespace tidemark::memory {
namespace {

// The plans of "search" for a planner whose runs must not be changed: then only lower budgets make room.
class Unchanged : public RecomputePlanner {
 public:
  std::string_view name() const override { return "search"; }
  RecomputePlan best_effort(const StepTrace& trace, int64_t budget_bytes,
                            const RecomputeOptions& options) const override {
    return search_->best_effort(trace, budget_bytes, options);
  }

 private:
  const std::unique_ptr<RecomputePlanner> search_ = make_recompute_planner("search");
};

struct Case {
  StepTrace trace;
  int64_t budget_bytes = 0;
};

// Plans of live bytes within the budget mostly have no arena within it: offsets come from one greedy pass.
std::vector<Case> hard_cases() {
  std::vector<Case> cases;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    RandomStepTraceOptions kind{seed, 50};
    kind.workspace_percent = seed % 2 == 0 ? 20 : 0;
    Case hard{random_step_trace(kind)};
    hard.budget_bytes = plain_peak(hard.trace).bytes * 8 / 10;
    cases.push_back(std::move(hard));
  }
  return cases;
}

// The same with a first step that needs the whole budget: no schedule fits a lower one.
std::vector<Case> cases_without_a_lower_budget() {
  std::vector<Case> cases = hard_cases();
  for (Case& hard : cases) {
    Step step;
    step.workspace_bytes = hard.budget_bytes;
    hard.trace.steps.insert(hard.trace.steps.begin(), step);
  }
  return cases;
}

class ArenaFit : public testing::Test {
 protected:
  ArenaFit() {
    options_.offset_planner = offsets_.get();
    options_.work_limit = 20'000;
    options_.offset_options.work_limit = 500'000;  // too little for a joint search
  }

  // How many of the cases get an arena within the budget.
  int fitting(const RecomputePlanner& planner, const std::vector<Case>& cases) const {
    int count = 0;
    for (const Case& hard : cases) {
      const RecomputePlan plan = plan_in_arena(planner, hard.trace, hard.budget_bytes, options_);
      EXPECT_EQ(find_plan_fault(hard.trace, plan), "");
      count += plan.peak_arena_bytes <= hard.budget_bytes ? 1 : 0;
    }
    return count;
  }

  const std::unique_ptr<OffsetPlanner> offsets_ = make_offset_planner("size_best_fit");
  const std::unique_ptr<RecomputePlanner> search_ = make_recompute_planner("search");
  RecomputeOptions options_;
};

TEST_F(ArenaFit, RoomIsMadeRunByRun) {
  const std::vector<Case> cases = cases_without_a_lower_budget();
  EXPECT_LE(fitting(Unchanged(), cases), 2);
  EXPECT_EQ(fitting(*search_, cases), static_cast<int>(cases.size()));
}

TEST_F(ArenaFit, RoomIsMadeByLowerBudgets) {
  const std::vector<Case> cases = hard_cases();
  EXPECT_EQ(fitting(Unchanged(), cases), static_cast<int>(cases.size()));
}

TEST_F(ArenaFit, SingleRunsAreNotDearerThanLowerBudgets) {
  double by_runs = 0, by_cuts = 0;
  for (const Case& hard : hard_cases()) {
    by_runs += plan_in_arena(*search_, hard.trace, hard.budget_bytes, options_).overhead;
    by_cuts += plan_in_arena(Unchanged(), hard.trace, hard.budget_bytes, options_).overhead;
  }
  EXPECT_LT(by_runs, 1.1 * by_cuts);
}

TEST_F(ArenaFit, SameInputGivesTheSamePlan) {
  for (const Case& hard : hard_cases()) {
    const RecomputePlan first = plan_in_arena(*search_, hard.trace, hard.budget_bytes, options_);
    const RecomputePlan second = plan_in_arena(*search_, hard.trace, hard.budget_bytes, options_);
    EXPECT_EQ(first.schedule.steps, second.schedule.steps);
    EXPECT_EQ(first.offsets.offsets, second.offsets.offsets);
    EXPECT_EQ(first.work, second.work);
  }
}

TEST_F(ArenaFit, PlannersWithARuleKeepToIt) {
  for (const Case& hard : hard_cases()) {
    const auto none = make_recompute_planner("none");
    const int64_t peak = plain_peak(hard.trace).bytes;
    EXPECT_EQ(plan_in_arena(*none, hard.trace, peak, options_).extra_cost, 0);
  }
}

TEST_F(ArenaFit, EndsWhereNothingMayRunTwice) {
  RandomStepTraceOptions kind{4, 30};
  kind.no_repeat_percent = 100;
  const StepTrace trace = random_step_trace(kind);
  const int64_t peak = plain_peak(trace).bytes;
  const RecomputePlan plan = plan_in_arena(*search_, trace, peak, options_);
  EXPECT_EQ(plan.extra_cost, 0);
  EXPECT_EQ(find_plan_fault(trace, plan), "");
  EXPECT_GE(plan.peak_arena_bytes, peak);
}

}  // namespace
}  // namespace tidemark::memory
