// The planners against optima that an exact integer program found (exact_program_test.py finds them again).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "memory/recompute/overhead_bound.h"
#include "memory/recompute/recompute_planner.h"

namespace tidemark::memory {
namespace {

using Json = nlohmann::json;

StepTrace trace_of(const Json& graph) {
  StepTrace trace;
  trace.name = "seed " + graph["seed"].dump();
  const auto count = static_cast<int32_t>(graph["cost"].size());
  for (int32_t i = 0; i < count; ++i) {
    Step step;
    step.cost = graph["cost"][i];
    step.inputs = graph["inputs"][i].get<std::vector<int32_t>>();
    step.outputs = {i};
    trace.steps.push_back(step);
    StepValue value;
    value.bytes = graph["bytes"][i];
    trace.values.push_back(value);
  }
  return trace;
}

// Calls check(trace, budget, optimum) for every stored case; optimum is -1 where no schedule fits.
template <typename Check>
int for_all_cases(Check check) {
  int cases = 0;
  for (const Json& graph : Json::parse(read_file("memory/recompute/testdata/small_graphs.json"))) {
    const StepTrace trace = trace_of(graph);
    validate(trace);
    for (const Json& optimum : graph["optima"]) {
      const int64_t budget = optimum["budget"];
      SCOPED_TRACE(trace.name + ", budget " + std::to_string(budget));
      const Json& cost = optimum["extra_cost"];
      check(trace, budget, cost.is_null() ? int64_t{-1} : cost.get<int64_t>());
      ++cases;
    }
  }
  return cases;
}

TEST(SmallGraphs, SearchFindsTheOptimum) {
  int optimal = 0;
  int possible = 0;
  const auto search = make_recompute_planner("search");
  for_all_cases([&](const StepTrace& trace, int64_t budget, int64_t optimum) {
    const RecomputePlan plan = search->best_effort(trace, budget, {});
    EXPECT_EQ(find_plan_fault(trace, plan), "");
    if (optimum < 0) {
      EXPECT_GT(plan.peak_live_bytes, budget);
      return;
    }
    ++possible;
    EXPECT_GE(plan.peak_live_bytes <= budget ? plan.extra_cost : optimum, optimum);
    const bool best = plan.peak_live_bytes <= budget && plan.extra_cost == optimum;
    EXPECT_TRUE(best || possible == 0) << "peak " << plan.peak_live_bytes << ", extra cost " << plan.extra_cost
                                       << ", optimum " << optimum;
    optimal += best ? 1 : 0;
  });
  EXPECT_GT(possible, 20);
  EXPECT_EQ(optimal, possible);
}

TEST(SmallGraphs, NoPlannerIsBetterThanTheOptimum) {
  for (const auto& planner : all_recompute_planners())
    for_all_cases([&](const StepTrace& trace, int64_t budget, int64_t optimum) {
      const RecomputePlan plan = planner->best_effort(trace, budget, {});
      if (plan.peak_live_bytes > budget) return;
      EXPECT_GE(optimum, 0) << planner->name() << " found a plan where there is none";
      EXPECT_GE(plan.extra_cost, optimum) << planner->name();
    });
}

TEST(SmallGraphs, TheBoundIsNeverAboveTheOptimum) {
  const int cases = for_all_cases([&](const StepTrace& trace, int64_t budget, int64_t optimum) {
    if (optimum < 0) return;
    EXPECT_LE(extra_cost_lower_bound(trace, budget), optimum);
  });
  EXPECT_GE(cases, 50);
}

}  // namespace
}  // namespace tidemark::memory
