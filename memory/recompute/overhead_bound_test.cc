#include "memory/recompute/overhead_bound.h"

#include <gtest/gtest.h>

#include "memory/recompute/any_order_schedules.h"
#include "memory/recompute/random_step_trace.h"
#include "memory/recompute/search/random.h"

namespace tidemark::memory {
namespace {

constexpr int kMostValues = 11;

// Traces with few values and every feature that a trace can have.
StepTrace small_trace(uint64_t seed) {
  recompute::Random random(77 * seed + 5);
  const auto share = [&](int64_t percent) {
    return random.below(3) == 0 ? static_cast<int>(random.below(percent)) : 0;
  };
  RandomStepTraceOptions options;
  options.seed = seed;
  options.steps = 5 + static_cast<int>(seed % 5);
  options.max_bytes = seed % 3 == 0 ? 6 : 100;
  options.max_cost = seed % 5 == 0 ? 3 : 50;
  options.mirrored = seed % 4 != 0;
  options.no_repeat_percent = share(40);
  options.workspace_percent = share(60);
  options.second_output_percent = share(40);
  options.takes_over_percent = share(80);
  options.overwrites_percent = share(90);
  options.persistent_percent = share(30);
  options.external_percent = share(40);
  options.result_percent = share(30);
  return random_step_trace(options);
}

int values_of(const StepTrace& trace) {
  int values = 0;
  for (const StepValue& value : trace.values) values += value.persistent ? 0 : 1;
  return values;
}

struct Counts {
  int cases = 0;
  int proven = 0;
};

// Against the optimum, with little work or much, and with plans at hand that are worse than the optimum by so much.
void check(const StepTrace& trace, int64_t budget_bytes, recompute::Random& random, Counts& counts) {
  const auto optimum = least_extra_cost_in_any_order(trace, budget_bytes);
  if (!optimum) return;
  for (int64_t work : {int64_t{20'000}, int64_t{10'000'000}}) {
    OverheadBoundOptions options;
    options.work_limit = work;
    if (random.below(2) == 0) options.known_cost = *optimum + random.below(20);
    const int64_t bound = extra_cost_lower_bound(trace, budget_bytes, options);
    ASSERT_LE(bound, *optimum) << "work " << work << ", known cost " << options.known_cost;
    ASSERT_GE(bound, 0);
    if (*optimum == 0 || work < 1'000'000) continue;
    ++counts.cases;
    counts.proven += bound == *optimum ? 1 : 0;
  }
}

TEST(ExtraCostLowerBound, IsNeverAboveTheBestOfAllOrders) {
  Counts counts;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    const StepTrace trace = small_trace(seed);
    if (values_of(trace) > kMostValues) continue;
    const int64_t least = least_conceivable_peak(trace).bytes;
    const int64_t most = plain_peak(trace).bytes;
    recompute::Random random(seed);
    for (int i = 0; i < 4 && least < most; ++i) {
      const int64_t budget = least + random.below(most - least);
      SCOPED_TRACE("seed " + std::to_string(seed) + ", budget " + std::to_string(budget));
      check(trace, budget, random, counts);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(counts.cases, 1000);
  EXPECT_GT(counts.proven, 9 * counts.cases / 10);  // a bound that says nothing would pass the rest
}

TEST(ExtraCostLowerBound, NothingIsLeftAboveWhatIsKnown) {
  const StepTrace trace = random_step_trace({4, 40});
  const int64_t budget = plain_peak(trace).bytes * 6 / 10;
  const int64_t bound = extra_cost_lower_bound(trace, budget);
  ASSERT_GT(bound, 1);
  OverheadBoundOptions options;
  options.known_cost = bound / 2;
  EXPECT_EQ(extra_cost_lower_bound(trace, budget, options), bound / 2);
  EXPECT_EQ(extra_cost_lower_bound(trace, plain_peak(trace).bytes), 0);
}

TEST(ExtraCostLowerBound, SameInputGivesTheSameBound) {
  const StepTrace trace = random_step_trace({5, 120});
  const int64_t budget = plain_peak(trace).bytes * 5 / 10;
  OverheadBoundOptions options;
  for (int64_t work : {int64_t{100'000}, int64_t{3'000'000}, int64_t{60'000'000}}) {
    options.work_limit = work;
    const int64_t bound = extra_cost_lower_bound(trace, budget, options);
    EXPECT_EQ(extra_cost_lower_bound(trace, budget, options), bound);
    EXPECT_GT(bound, 0);
  }
}

}  // namespace
}  // namespace tidemark::memory
