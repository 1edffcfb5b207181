#include "memory/bench/recompute_bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "memory/bench/transformer_step.h"
#include "memory/recompute/random_step_trace.h"

namespace tidemark::memory {
namespace {

StepTrace example(uint64_t seed) {
  RandomStepTraceOptions options;
  options.seed = seed;
  options.steps = 40;
  return random_step_trace(options);
}

RecomputeBenchOptions small_effort() {
  RecomputeBenchOptions options;
  options.work_limit = 2'000;
  options.offset_planner = "size_best_fit";
  return options;
}

TEST(BudgetText, ReadsSharesMultiplesAndSizes) {
  const StepTrace trace = example(1);
  const auto peak = static_cast<double>(plain_peak(trace).bytes);
  EXPECT_EQ(BudgetText{"0.9"}.resolve(trace), static_cast<int64_t>(0.9 * peak));
  EXPECT_EQ(BudgetText{"90%"}.resolve(trace), static_cast<int64_t>(0.9 * peak));
  EXPECT_EQ(BudgetText{"1"}.resolve(trace), plain_peak(trace).bytes);
  EXPECT_EQ(BudgetText{"2ws"}.resolve(trace), 2 * least_conceivable_peak(trace).bytes);
  EXPECT_EQ(BudgetText{"3KiB"}.resolve(trace), 3072);
  for (const char* bad : {"", "ws", "-0.5", "lots", "0"}) {
    try {
      BudgetText{bad}.resolve(trace);
      ADD_FAILURE() << bad;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::config);
    }
  }
}

TEST(RecomputeBench, LongTransformerStepsGetPlansNearTheirBound) {
  const StepTrace trace = transformer_step(2'500);
  EXPECT_NO_THROW(validate(trace));
  EXPECT_NEAR(static_cast<double>(trace.steps.size()), 2'500, 100);
  RecomputeBenchReport report;
  report.options.budgets = {{"0.5"}, {"0.3"}};
  report.options.check = false;
  bench_step_trace(trace, report);
  for (const RecomputeBenchRow& row : report.rows) {
    EXPECT_TRUE(row.reached);
    EXPECT_GT(row.overhead_lower_bound, 0);
    EXPECT_LT(row.overhead, 1.2 * row.overhead_lower_bound);
    EXPECT_LE(row.arena_overhead, row.overhead + 0.002);
    EXPECT_LT(row.arena_cpu_seconds, 1);  // generous: some sixty milliseconds are the aim
  }
}

TEST(RecomputeBench, RelabelledAndScaledGraphsGiveTheSameFigures) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const StepTrace trace = example(seed);
    const StepTrace other = relabelled(trace, seed, 3, 7);
    EXPECT_NO_THROW(validate(other));
    EXPECT_EQ(plain_peak(other).bytes, 3 * plain_peak(trace).bytes);
    EXPECT_EQ(least_conceivable_peak(other).bytes, 3 * least_conceivable_peak(trace).bytes);
    EXPECT_EQ(total_cost(other), 7 * total_cost(trace));
    RecomputeOptions options;
    options.work_limit = 20'000;
    const int64_t budget = plain_peak(trace).bytes * 8 / 10;
    const RecomputePlan plan = make_recompute_planner("search")->best_effort(trace, budget, options);
    const RecomputePlan other_plan = make_recompute_planner("search")->best_effort(other, 3 * budget, options);
    EXPECT_EQ(7 * plan.extra_cost, other_plan.extra_cost) << "seed " << seed;
  }
}

TEST(RecomputeBench, RowsHaveWhatTheReportPromises) {
  RecomputeBenchReport report;
  report.options = small_effort();
  report.options.budgets = {{"1"}, {"0.8"}, {"1"}, {"0.01"}};
  report.options.variants = 3;
  report.options.frontier_points = 5;
  bench_step_trace(example(2), report);
  ASSERT_EQ(report.rows.size(), 4u);
  EXPECT_EQ(report.rows[0].overhead, 0);
  EXPECT_EQ(report.rows[0].variants_reached, 3);
  const RecomputeBenchRow& row = report.rows[1];
  EXPECT_TRUE(row.reached);
  EXPECT_GT(row.overhead, 0);
  EXPECT_LE(row.peak_bytes, row.budget_bytes);
  EXPECT_LE(row.overhead_lower_bound, row.overhead);
  EXPECT_LE(row.arena_peak_bytes, row.budget_bytes);
  EXPECT_FALSE(report.rows[3].reached);
  EXPECT_GT(report.rows[3].peak_bytes, report.rows[3].budget_bytes);
  ASSERT_EQ(report.frontiers.size(), 1u);
  EXPECT_EQ(report.frontiers[0].points.size(), 5u);
}

TEST(RecomputeBench, JsonHasTheFieldsThatOtherProgramsRead) {
  RecomputeBenchReport report;
  report.options = small_effort();
  report.options.budgets = {{"0.8"}};
  report.options.frontier_points = 4;
  bench_step_trace(example(3), report);
  const nlohmann::json json = nlohmann::json::parse(to_json(report));
  for (const char* key : {"graph", "budget", "peak", "overhead", "overhead_lower_bound", "arena_peak", "arena_overhead",
                          "cpu_seconds", "budget_bytes", "reached", "median_overhead"})
    EXPECT_TRUE(json["rows"][0].contains(key)) << key;
  EXPECT_EQ(json["rows"][0]["peak"], report.rows[0].peak_bytes);
  EXPECT_EQ(json["frontiers"][0]["points"].size(), 4u);
  std::ostringstream table;
  print_table(report, table);
  EXPECT_NE(table.str().find("frontier of"), std::string::npos);
}

TEST(RecomputeBench, TheTableOfACurveAloneHasNoBudgetsAndSaysWhatItsFiguresAre) {
  RecomputeBenchReport report;
  report.options = small_effort();
  report.options.frontier_points = 4;
  bench_step_trace(example(3), report);
  std::ostringstream table;
  print_table(report, table);
  EXPECT_EQ(table.str().rfind("frontier of", 0), 0u) << table.str();
  EXPECT_NE(table.str().find(" ms, bounds and checks not counted\n"), std::string::npos) << table.str();
  EXPECT_NE(table.str().find("100.00 % of the peak  overhead"), std::string::npos) << table.str();
}

}  // namespace
}  // namespace tidemark::memory
