#include "memory/recompute/search/repair.h"

#include <gtest/gtest.h>

#include "memory/recompute/random_step_trace.h"
#include "memory/recompute/search/improve.h"

namespace tidemark::memory::recompute {
namespace {

// Values of these bytes, each made by a step of this cost from nothing, then a step that makes 10 bytes, then one that
// reads all: the middle step is the peak.
struct Made {
  int64_t bytes = 0;
  int64_t cost = 0;
};
StepTrace waiting_values(const std::vector<Made>& values) {
  StepTrace trace;
  trace.name = "waiting";
  Step last{.cost = 1, .name = "read_all"};
  for (const Made& made : values) {
    const auto v = static_cast<int32_t>(trace.values.size());
    trace.values.push_back({.bytes = made.bytes, .name = "v" + std::to_string(v)});
    trace.steps.push_back({.cost = made.cost, .outputs = {v}, .name = "make" + std::to_string(v)});
    last.inputs.push_back(v);
  }
  const auto middle = static_cast<int32_t>(trace.values.size());
  trace.values.push_back({.bytes = 10, .name = "middle"});
  trace.steps.push_back({.cost = 1, .workspace_bytes = 40, .outputs = {middle}, .name = "make_middle"});
  trace.steps.push_back(last);
  validate(trace);
  return trace;
}

// 12 bytes are too many: the two small ones are better by bytes per cost, the first large one alone is cheaper.
const std::vector<Made> kSmallAndLarge = {{10, 10}, {4, 5}, {16, 13}, {16, 30}};

TEST(Repair, FinishesWithTheCheapestSingleMove) {
  const StepTrace trace = waiting_values(kSmallAndLarge);
  const Problem problem(trace);
  PlanState state(problem, static_cast<double>(plain_peak(trace).bytes - 12));
  Repair repair(state, 1);
  ASSERT_TRUE(repair.finish(100));
  EXPECT_TRUE(state.fits());
  EXPECT_EQ(state.extra_cost(), 13);
}

TEST(Repair, DoesNotFinishAtTheLimitAndLeavesTheStateAsItWas) {
  const StepTrace trace = waiting_values(kSmallAndLarge);
  const Problem problem(trace);
  PlanState state(problem, static_cast<double>(plain_peak(trace).bytes - 12));
  const std::vector<double> bytes = state.stage_bytes();
  Repair repair(state, 1);
  EXPECT_FALSE(repair.finish(13));
  EXPECT_EQ(state.extra_count(), 0);
  EXPECT_EQ(state.stage_bytes(), bytes);
}

// The value that must go is made from one that is gone by then, and too large to be kept instead.
TEST(Repair, AMoveOfSeveralRunsMustStayBelowTheLimitAsAWhole) {
  StepTrace trace;
  trace.name = "chain";
  trace.values = {{.bytes = 14}, {.bytes = 16}, {.bytes = 10}};
  trace.steps = {{.cost = 10, .outputs = {0}},
                 {.cost = 5, .inputs = {0}, .outputs = {1}},
                 {.cost = 1, .workspace_bytes = 40, .outputs = {2}},
                 {.cost = 1, .inputs = {1, 2}}};
  validate(trace);
  const Problem problem(trace);
  PlanState state(problem, static_cast<double>(plain_peak(trace).bytes - 12));
  Repair repair(state, 1);
  EXPECT_FALSE(repair.finish(15));
  EXPECT_EQ(state.extra_count(), 0);
  EXPECT_TRUE(repair.finish(16));
  EXPECT_EQ(state.extra_cost(), 15);
}

// What improve() makes of the plan that runs these steps again before the last.
double improved_cost(const std::vector<int32_t>& steps, const ImproveLimits& limits) {
  const StepTrace trace = waiting_values(kSmallAndLarge);
  const Problem problem(trace);
  PlanState state(problem, static_cast<double>(plain_peak(trace).bytes - 12));
  for (int32_t step : steps) state.flip({problem.step_count - 2, step});
  state.settle();
  EXPECT_TRUE(state.fits());
  Repair repair(state, 1);
  Random random(1);
  improve(state, repair, random, limits);
  EXPECT_TRUE(state.fits());
  return state.extra_cost();
}

// Without idle flips there are no rounds, only the exchange before them.
TEST(Improve, ExchangesARunForOneThatIsCheaper) { EXPECT_EQ(improved_cost({4}, {.flips = 500}), 13); }

TEST(Improve, RoundsReplaceSmallRunsByOneThatIsCheaper) {
  EXPECT_EQ(improved_cost({1, 2}, {.flips = 500}), 15) << "no exchange of one run does it";
  EXPECT_EQ(improved_cost({1, 2}, {.flips = 500, .idle_flips = 500, .most_idle_flips = 500}), 13);
}

// However high the threshold, what is left at the end is the best plan seen.
TEST(Improve, AThresholdNeverCostsAnything) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const StepTrace trace = random_step_trace({seed, 60});
    const Problem problem(trace);
    PlanState state(problem, static_cast<double>(plain_peak(trace).bytes * 85 / 100));
    Repair repair(state, seed);
    if (!repair.run({})) continue;
    const double cost = state.extra_cost();
    const int64_t first = state.flips();
    Random random(seed);
    improve(state, repair, random, {.flips = 2000, .threshold = 0.5});
    EXPECT_TRUE(state.fits());
    EXPECT_LE(state.extra_cost(), cost);
    EXPECT_GE(state.flips() - first, 2000);
  }
}

}  // namespace
}  // namespace tidemark::memory::recompute
