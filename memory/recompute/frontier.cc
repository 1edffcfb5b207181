#include "memory/recompute/frontier.h"

#include <algorithm>
#include <numeric>

#include "memory/recompute/overhead_bound.h"
#include "memory/recompute/search/search.h"

namespace tidemark::memory {
namespace {

void add_bound(const StepTrace& trace, int64_t budget_bytes, const RecomputeOptions& options, RecomputePlan& plan) {
  OverheadBoundOptions bound;
  bound.work_limit = options.bound_work_limit;
  bound.known_cost = plan.extra_cost;
  plan.extra_cost_lower_bound = extra_cost_lower_bound(trace, budget_bytes, bound);
  const auto cost = static_cast<double>(std::max<int64_t>(total_cost(trace), 1));
  plan.overhead_lower_bound = static_cast<double>(plan.extra_cost_lower_bound) / cost;
}

// Every budget starts from the plain order and from the plan of the next larger one.
std::vector<recompute::SearchResult> search_downwards(const recompute::Problem& problem,
                                                      const std::vector<int64_t>& budgets_bytes,
                                                      const std::vector<size_t>& falling,
                                                      const RecomputeOptions& options, int64_t& work) {
  std::vector<recompute::SearchResult> found(budgets_bytes.size());
  const auto share = options.work_limit / static_cast<int64_t>(std::max<size_t>(1, budgets_bytes.size()));
  recompute::Search search(problem, options.seed, share);
  std::vector<recompute::Run> start;
  int failures = 0;
  for (size_t i : falling) {
    // Where two budgets in a row are out of reach, smaller ones are too.
    if (failures < 2) found[i] = search.run(static_cast<double>(budgets_bytes[i]), start);
    failures = found[i].fits ? 0 : failures + 1;
    if (found[i].fits) start = found[i].runs;
  }
  work = search.work();
  return found;
}

}  // namespace

std::vector<FrontierPoint> frontier(const StepTrace& trace, const std::vector<int64_t>& budgets_bytes,
                                    const RecomputeOptions& options) {
  validate(trace);
  const recompute::Problem problem(trace);
  std::vector<size_t> falling(budgets_bytes.size());
  std::iota(falling.begin(), falling.end(), size_t{0});
  std::stable_sort(falling.begin(), falling.end(),
                   [&](size_t a, size_t b) { return budgets_bytes[a] > budgets_bytes[b]; });
  int64_t work = 0;
  const std::vector<recompute::SearchResult> found = search_downwards(problem, budgets_bytes, falling, options, work);

  std::vector<FrontierPoint> points(budgets_bytes.size());
  recompute::PlanState state(problem, 0);
  const recompute::SearchResult* cheapest = nullptr;  // of all budgets up to this one
  for (auto i = falling.rbegin(); i != falling.rend(); ++i) {
    FrontierPoint& point = points[*i];
    point.budget_bytes = budgets_bytes[*i];
    if (found[*i].fits && (cheapest == nullptr || found[*i].extra_cost < cheapest->extra_cost)) cheapest = &found[*i];
    if (cheapest == nullptr) continue;
    state.assign(cheapest->runs);
    point.reached = true;
    point.plan = make_plan(trace, state.sequence(), "search", work);
    if (options.bound_work_limit > 0) add_bound(trace, point.budget_bytes, options, point.plan);
  }
  return points;
}

std::vector<int64_t> frontier_budgets(const StepTrace& trace, int count) {
  const int64_t least = least_conceivable_peak(trace).bytes;
  const int64_t most = plain_peak(trace).bytes;
  std::vector<int64_t> budgets;
  for (int i = 0; i < count; ++i)
    budgets.push_back(least + static_cast<int64_t>(static_cast<double>(most - least) * (i + 1) / count));
  return budgets;
}

}  // namespace tidemark::memory
