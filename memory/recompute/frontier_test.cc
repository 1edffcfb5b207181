#include "memory/recompute/frontier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "memory/recompute/frontier_svg.h"
#include "memory/recompute/random_step_trace.h"

namespace tidemark::memory {
namespace {

RecomputeOptions small_effort() {
  RecomputeOptions options;
  options.work_limit = 5'000;
  options.bound_work_limit = 100'000;
  return options;
}

StepTrace mirrored_trace(uint64_t seed, int steps) {
  RandomStepTraceOptions options;
  options.seed = seed;
  options.steps = steps;
  options.workspace_percent = options.takes_over_percent = 20;
  return random_step_trace(options);
}

TEST(Frontier, IsMonotoneValidAndZeroWhereTheTraceFits) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const StepTrace trace = mirrored_trace(seed, 50);
    std::vector<FrontierPoint> points = frontier(trace, frontier_budgets(trace, 20), small_effort());
    ASSERT_EQ(points.size(), 20u);
    int64_t last_cost = INT64_MAX;
    for (const FrontierPoint& point : points) {
      if (!point.reached) {
        EXPECT_EQ(last_cost, INT64_MAX) << "a larger budget is out of reach where a smaller one is not";
        continue;
      }
      EXPECT_EQ(find_plan_fault(trace, point.plan), "");
      EXPECT_LE(point.plan.peak_live_bytes, point.budget_bytes);
      EXPECT_LE(point.plan.extra_cost, last_cost);
      EXPECT_LE(point.plan.extra_cost_lower_bound, point.plan.extra_cost);
      last_cost = point.plan.extra_cost;
    }
    EXPECT_TRUE(points.back().reached);
    EXPECT_EQ(points.back().plan.extra_cost, 0);
  }
}

TEST(Frontier, KeepsTheOrderOfTheBudgetsGiven) {
  const StepTrace trace = mirrored_trace(3, 30);
  const int64_t peak = plain_peak(trace).bytes;
  const std::vector<FrontierPoint> points = frontier(trace, {peak, peak * 8 / 10, peak * 9 / 10}, small_effort());
  EXPECT_EQ(points[0].budget_bytes, peak);
  EXPECT_EQ(points[1].budget_bytes, peak * 8 / 10);
  ASSERT_TRUE(points[1].reached && points[2].reached);
  EXPECT_EQ(points[0].plan.extra_cost, 0);
  EXPECT_GE(points[1].plan.extra_cost, points[2].plan.extra_cost);
  EXPECT_GT(points[1].plan.extra_cost, 0);
}

TEST(Frontier, BudgetsOutOfReachAreMarked) {
  const StepTrace trace = mirrored_trace(4, 30);
  const std::vector<FrontierPoint> points =
      frontier(trace, {least_conceivable_peak(trace).bytes - 1, plain_peak(trace).bytes}, small_effort());
  EXPECT_FALSE(points[0].reached);
  EXPECT_TRUE(points[1].reached);
}

TEST(FrontierSvg, DrawsEveryPointThatWasReached) {
  const StepTrace trace = mirrored_trace(5, 40);
  const std::vector<FrontierPoint> points = frontier(trace, frontier_budgets(trace, 12), small_effort());
  std::ostringstream out;
  write_frontier_svg("a < b", plain_peak(trace).bytes, points, out);
  const std::string svg = out.str();
  EXPECT_EQ(svg.rfind("<svg ", 0), 0u);
  EXPECT_NE(svg.find("a &lt; b"), std::string::npos);
  size_t dots = 0;
  for (size_t at = svg.find("<circle"); at != std::string::npos; at = svg.find("<circle", at + 1)) ++dots;
  EXPECT_EQ(dots,
            static_cast<size_t>(std::count_if(points.begin(), points.end(), [](const auto& p) { return p.reached; })));
  EXPECT_GT(dots, 3u);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

FrontierPoint point(int64_t budget_bytes, double overhead, double lower_bound) {
  FrontierPoint point;
  point.budget_bytes = budget_bytes;
  point.reached = true;
  point.plan.overhead = overhead;
  point.plan.overhead_lower_bound = lower_bound;
  return point;
}

// The corners of the n-th line: pairs of x and y.
std::vector<std::pair<double, double>> corners(const std::string& svg, int n) {
  size_t at = 0;
  for (int i = 0; i <= n; ++i) at = svg.find("points=\"", at) + 8;
  std::istringstream in(svg.substr(at, svg.find('"', at) - at));
  std::vector<std::pair<double, double>> found;
  char comma = 0;
  for (double x = 0, y = 0; in >> x >> comma >> y;) found.emplace_back(x, y);
  return found;
}

// What is proven for 600 bytes says nothing of 700, and the plan of 600 serves them. What is proven for 600 holds for
// 400, where less was proven.
TEST(FrontierSvg, ABoundHoldsForSmallerBudgetsAndAPlanForLarger) {
  std::ostringstream out;
  write_frontier_svg("t", 1000, {point(400, 0.3, 0.05), point(600, 0.2, 0.1), point(1000, 0, 0)}, out);
  const auto bound = corners(out.str(), 0);
  const auto plan = corners(out.str(), 1);
  ASSERT_EQ(bound.size(), 5u);
  ASSERT_EQ(plan.size(), 5u);
  EXPECT_EQ(bound[1].second, bound[0].second);  // from 1000 down to 600: what is proven for 1000
  EXPECT_LT(bound[2].second, bound[1].second);  // upwards at 600
  EXPECT_EQ(bound[2].first, bound[1].first);
  EXPECT_EQ(bound[4], bound[3]);              // at 400 as at 600
  EXPECT_EQ(plan[1].second, plan[0].second);  // from 400 up to 600: the plan of 400
  EXPECT_EQ(plan[1].first, bound[1].first);
}

}  // namespace
}  // namespace tidemark::memory
