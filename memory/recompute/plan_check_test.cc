// The simulator must find what is wrong: each test breaks one thing of a valid plan.
#include <gtest/gtest.h>

#include <algorithm>

#include "memory/recompute/recompute_planner.h"

namespace tidemark::memory {
namespace {

// a -> b -> c, and c reads a again: recomputing a for c frees it while b runs.
StepTrace small_trace() {
  StepTrace trace;
  trace.name = "small";
  trace.values.resize(4);
  for (size_t v = 0; v < 4; ++v) trace.values[v].bytes = 10;
  trace.steps.resize(4);
  trace.steps[0].outputs = {0};
  trace.steps[1].inputs = {0};
  trace.steps[2].inputs = {1};
  trace.steps[3].inputs = {0, 2};
  for (int32_t s = 0; s < 4; ++s) {
    trace.steps[s].cost = 1 + s;
    trace.steps[s].outputs = {s};
    trace.steps[s].name = std::string(1, static_cast<char>('a' + s));
  }
  return trace;
}

RecomputePlan good_plan(const StepTrace& trace) { return make_plan(trace, {0, 1, 2, 0, 3}, "test", 0); }

TEST(RecomputePlanCheck, AcceptsAValidPlan) {
  const StepTrace trace = small_trace();
  const RecomputePlan plan = good_plan(trace);
  EXPECT_EQ(find_plan_fault(trace, plan), "");
  EXPECT_EQ(plan.extra_cost, 1);
  EXPECT_EQ(plan.peak_live_bytes, 30);
}

TEST(RecomputePlanCheck, FindsAnInputThatIsGone) {
  const StepTrace trace = small_trace();
  RecomputePlan plan = good_plan(trace);
  plan.schedule.instances[1].end = 2;  // b's copy, which c still reads at position 2
  EXPECT_NE(find_plan_fault(trace, plan).find("position 2, step 2 'c': value 1 '' is not there"), std::string::npos)
      << find_plan_fault(trace, plan);
}

TEST(RecomputePlanCheck, FindsWrongFigures) {
  const StepTrace trace = small_trace();
  RecomputePlan plan = good_plan(trace);
  plan.peak_live_bytes = 29;
  EXPECT_EQ(find_plan_fault(trace, plan), "peak is stated as 29, counted 30");
  plan = good_plan(trace);
  plan.extra_cost = 0;
  EXPECT_EQ(find_plan_fault(trace, plan), "extra cost is stated as 0, counted 1");
  plan = good_plan(trace);
  plan.overhead = 0;
  EXPECT_EQ(find_plan_fault(trace, plan), "overhead is not extra cost / cost");
}

TEST(RecomputePlanCheck, FindsWrongOrders) {
  StepTrace trace = small_trace();
  RecomputePlan plan = good_plan(trace);
  trace.steps[0].may_run_twice = false;
  EXPECT_EQ(find_plan_fault(trace, plan), "position 3, step 0 'a': runs again, but must not");
  trace = small_trace();
  plan.schedule.steps = {0, 1, 2, 0};
  EXPECT_EQ(find_plan_fault(trace, plan), "step 3 never runs");
  plan.schedule.steps = {0, 2, 1, 0, 3};
  EXPECT_EQ(find_plan_fault(trace, plan), "position 1, step 2 'c': first runs are not in the trace's order");
}

TEST(RecomputePlanCheck, FindsAReadOfWhatWasOverwritten) {
  StepTrace trace = small_trace();
  trace.values[2].predecessor = 1;  // c overwrites b
  trace.values[2].reuse = Reuse::overwrites;
  EXPECT_EQ(find_plan_fault(trace, good_plan(trace)), "");
  trace.steps[3].inputs = {0, 1, 2};
  RecomputePlan plan = good_plan(trace);
  EXPECT_NE(find_plan_fault(trace, plan).find("value 1 '' was overwritten"), std::string::npos);
}

TEST(RecomputePlanCheck, FindsALostResult) {
  StepTrace trace = small_trace();
  trace.values[3].live_at_end = true;
  RecomputePlan plan = good_plan(trace);
  EXPECT_EQ(find_plan_fault(trace, plan), "");
  trace.values[1].live_at_end = true;
  EXPECT_EQ(find_plan_fault(trace, plan), "result 1 '' is not there at the end");
}

TEST(RecomputePlanCheck, FindsOverlapInTheArena) {
  const StepTrace trace = small_trace();
  const std::unique_ptr<OffsetPlanner> offsets = make_offset_planner("size_best_fit");
  RecomputeOptions options;
  options.offset_planner = offsets.get();
  RecomputePlan plan = make_recompute_planner("search")->plan(trace, 40, options);
  EXPECT_EQ(find_plan_fault(trace, plan), "");
  std::fill(plan.offsets.offsets.begin(), plan.offsets.offsets.end(), 0);
  EXPECT_NE(find_plan_fault(trace, plan), "");
}

}  // namespace
}  // namespace tidemark::memory
