// The state's bookkeeping against a schedule made from scratch.
#include "memory/recompute/search/plan_state.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "memory/recompute/random_step_trace.h"
#include "memory/recompute/schedule.h"
#include "memory/recompute/search/random.h"

namespace tidemark::memory::recompute {
namespace {

using Pair = Run;  // in a test's body, Run is GoogleTest's

double highest(const PlanState& state) {
  return *std::max_element(state.stage_bytes().begin(), state.stage_bytes().end());
}

double excess_by_hand(const PlanState& state) {
  double excess = 0;
  for (double bytes : state.stage_bytes()) excess += std::max(0.0, bytes - state.budget_bytes());
  return excess;
}

void expect_true_figures(const StepTrace& trace, const PlanState& state) {
  const Schedule schedule = make_schedule(trace, state.sequence());
  ASSERT_EQ(static_cast<int64_t>(highest(state)), live_peak(trace, schedule).bytes);
  ASSERT_EQ(state.excess(), excess_by_hand(state));
  ASSERT_EQ(static_cast<int64_t>(state.extra_cost()), schedule_cost(trace, schedule) - total_cost(trace));
  ASSERT_EQ(state.extra_count(), static_cast<int32_t>(state.extra_runs().size()));
}

Run random_run(const Problem& problem, Random& random) {
  for (;;) {
    const auto stage = static_cast<int32_t>(random.below(problem.step_count));
    const auto step = static_cast<int32_t>(random.below(problem.step_count));
    if (step < stage && problem.may_repeat(step, stage)) return {stage, step};
  }
}

TEST(PlanState, AgreesWithTheScheduleAfterAnyFlips) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const StepTrace trace =
        random_step_trace({seed, 8 + static_cast<int>(seed) * 2, 100, 50, true, 10, 20, 20, 20, 10, 10, 20, 10});
    const Problem problem(trace);
    PlanState state(problem, static_cast<double>(plain_peak(trace).bytes * 8 / 10));
    Random random(seed);
    for (int i = 0; i < 300; ++i) {
      state.flip(random_run(problem, random));
      if (random.below(3) > 0) continue;
      state.settle();
      expect_true_figures(trace, state);
    }
  }
}

TEST(PlanState, OneOfTwoOutputsTakesOverTheBytesOfAnInput) {
  StepTrace trace;
  trace.name = "two takers";
  trace.values = {{.bytes = 10}, {.bytes = 6, .predecessor = 0}, {.bytes = 9, .predecessor = 0}, {.bytes = 1}};
  trace.steps = {{.outputs = {0}}, {.inputs = {0}, .outputs = {1, 2}}, {.inputs = {1, 2}, .outputs = {3}}};
  validate(trace);
  const Problem problem(trace);
  const PlanState state(problem, 100);
  EXPECT_EQ(plain_peak(trace).bytes, 10 + 9);
  EXPECT_EQ(static_cast<int64_t>(highest(state)), plain_peak(trace).bytes);
}

struct Snapshot {
  std::vector<double> stage_bytes;
  std::vector<Pair> runs;
  double excess = 0;
  double extra_cost = 0;
  int32_t extra_count = 0;
  size_t mark = 0;
  bool operator==(const Snapshot&) const = default;
};

Snapshot snapshot(const PlanState& state) {
  return {state.stage_bytes(), state.extra_runs(),  state.excess(),
          state.extra_cost(),  state.extra_count(), state.mark()};
}

// Marks within marks; some undone with flips that are not settled yet.
TEST(PlanState, UndoComesBackToEveryMark) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const StepTrace trace =
        random_step_trace({seed, 8 + static_cast<int>(seed) * 2, 100, 50, true, 10, 20, 20, 20, 10, 10, 20, 10});
    const Problem problem(trace);
    PlanState state(problem, static_cast<double>(plain_peak(trace).bytes * 7 / 10));
    Random random(seed);
    std::vector<Snapshot> marks;
    for (int i = 0; i < 200; ++i) {
      state.flip(random_run(problem, random));
      if (random.below(3) == 0) {
        state.settle();
        marks.push_back(snapshot(state));
      }
      if (marks.empty() || random.below(4) > 0) continue;
      marks.resize(1 + random.below(static_cast<int64_t>(marks.size())));
      state.undo_to(marks.back().mark);
      ASSERT_EQ(snapshot(state), marks.back());
      expect_true_figures(trace, state);
    }
  }
}

TEST(PlanState, AnotherBudgetOrPlanForgetsTheJournal) {
  const StepTrace trace = random_step_trace({6, 30});
  const Problem problem(trace);
  PlanState state(problem, 100);
  state.flip_and_settle({9, 3});
  state.set_budget(50);
  EXPECT_EQ(state.mark(), 0U);
  EXPECT_EQ(state.excess(), excess_by_hand(state));
  state.flip_and_settle({10, 2});
  state.assign({{12, 5}});
  EXPECT_EQ(state.mark(), 0U);
}

TEST(PlanState, GrowthOfTheExcessIsSummedOverTheRange) {
  const StepTrace trace = random_step_trace({7, 40});
  const Problem problem(trace);
  PlanState state(problem, static_cast<double>(plain_peak(trace).bytes * 6 / 10));
  Random random(3);
  for (int i = 0; i < 200; ++i) {
    const auto begin = static_cast<int32_t>(random.below(problem.step_count));
    const auto end = begin + static_cast<int32_t>(random.below(problem.step_count - begin + 1));
    const auto bytes = static_cast<double>(random.below(200));
    double growth = 0;
    for (int32_t t = begin; t < end; ++t)
      growth += std::max(0.0, state.stage_bytes(t) + bytes - state.budget_bytes()) -
                std::max(0.0, state.stage_bytes(t) - state.budget_bytes());
    ASSERT_EQ(state.excess_growth(begin, end, bytes), growth);
  }
}

TEST(PlanState, ARunThatIsNeededCannotGo) {
  int needed = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const StepTrace trace = random_step_trace({seed, 40});
    const Problem problem(trace);
    PlanState state(problem, 0);
    Random random(seed);
    for (int i = 0; i < 30; ++i) state.flip_and_settle(random_run(problem, random));
    state.set_budget(highest(state));
    for (Pair run : state.extra_runs()) {
      if (!state.is_needed(run)) continue;
      ++needed;
      const size_t mark = state.mark();
      state.flip_and_settle(run);
      EXPECT_FALSE(state.fits()) << "step " << run.step << " at stage " << run.stage;
      state.undo_to(mark);
    }
  }
  EXPECT_GT(needed, 20);
}

TEST(PlanState, AssignMakesExactlyThosePairs) {
  const StepTrace trace = random_step_trace({6, 30});
  const Problem problem(trace);
  PlanState state(problem, 100);
  state.assign({{9, 3}, {12, 5}});
  EXPECT_EQ(state.extra_runs(), (std::vector<Pair>{{9, 3}, {12, 5}}));
  state.assign({{12, 5}, {14, 2}});
  EXPECT_EQ(state.extra_runs(), (std::vector<Pair>{{12, 5}, {14, 2}}));
  state.assign({});
  EXPECT_EQ(static_cast<int64_t>(highest(state)), plain_peak(trace).bytes);
}

}  // namespace
}  // namespace tidemark::memory::recompute
