#include "memory/arena/portfolio_planner.h"

#include <algorithm>

#include "memory/arena/alias_merge.h"
#include "memory/arena/capacity_check.h"
#include "memory/arena/component_solver.h"

// Note [Portfolio]
// Cheapest first, and each step only where the ones before were not good enough:
//   1. equal members of alias groups are merged (alias_merge.h), the trace is cut where no buffer is live
//   (component.h);
//   2. one greedy pass by size, then a short exact search (search/valley_search.h) at the lower bound, of large parts
//   on
//      the hot core only (hot_core.h): that settles most real traces;
//   3. greedy passes in other orders;
//   4. per part the exact search at the lower bound and downwards from the best plan, with growing shares of work;
//   5. once those shares are large and there is still a gap, in between a search that lets buffers overlap at first
//      (search/overlap_search.h).
// The bound is the fullest section, raised whenever the search proves a capacity impossible. A plan that meets it ends
// the work. Proofs by search are dropped where alias groups were merged: the merged trace is a restriction.

namespace tidemark::memory {
namespace {

struct Pass {
  GreedyOrder order;
  FitRule rule;
  const char* name;
};

constexpr Pass kPasses[] = {
    {GreedyOrder::size, FitRule::first, "size_first_fit"},
    {GreedyOrder::contention, FitRule::first, "contention_first_fit"},
    {GreedyOrder::size, FitRule::best, "size_best_fit"},
    {GreedyOrder::area, FitRule::first, "area_first_fit"},
    {GreedyOrder::lifetime, FitRule::first, "lifetime_first_fit"},
    {GreedyOrder::begin, FitRule::best, "begin_best_fit"},
};
// More passes than the first cost as much as the search, which mostly needs none of them; where one pass takes tens of
// milliseconds the search does better with that time.
constexpr size_t kLargeTrace = 5000;

void first_pass(ComponentSolver& solver) { solver.greedy_pass(kPasses[0].order, kPasses[0].rule, kPasses[0].name); }

void other_passes(ComponentSolver& solver) {
  for (size_t i = 1; i < std::size(kPasses); ++i) {
    solver.greedy_pass(kPasses[i].order, kPasses[i].rule, kPasses[i].name);
    if (solver.peak_bytes() <= solver.lower_bound_bytes()) return;
  }
}

OffsetPlan make_plan(const MergedTrace& merged, const ComponentSolver& solver, int64_t bound_without_search) {
  OffsetPlan plan;
  for (int32_t index : merged.merged_index) plan.offsets.push_back(solver.offsets()[index]);
  plan.peak_bytes = solver.peak_bytes();
  plan.lower_bound_bytes = merged.has_alias ? bound_without_search : solver.lower_bound_bytes();
  plan.proven_optimal = plan.peak_bytes == plan.lower_bound_bytes;
  plan.work = solver.work();
  plan.planner = solver.found_by();
  return plan;
}

}  // namespace

OffsetPlan PortfolioPlanner::minimize(const Trace& trace, const OffsetPlannerOptions& options) const {
  validate(trace);
  const SectionedTrace sections = make_sections(trace);
  const MergedTrace merged = merge_alias_groups(sections);
  ComponentSolver solver(merged.sections, options);
  first_pass(solver);
  solver.try_lower_bound();
  if (solver.peak_bytes() > solver.lower_bound_bytes()) {
    if (trace.buffers.size() <= kLargeTrace) other_passes(solver);
    solver.minimize();
  }
  return make_plan(merged, solver, sections.lower_bound_bytes);
}

FitResult PortfolioPlanner::fit(const Trace& trace, int64_t capacity_bytes, const OffsetPlannerOptions& options) const {
  validate(trace);
  check_capacity(trace, capacity_bytes);
  const SectionedTrace sections = make_sections(trace);
  FitResult result;
  result.plan.lower_bound_bytes = sections.lower_bound_bytes;
  if (sections.lower_bound_bytes > capacity_bytes) {
    result.fit = Fit::impossible;
    return result;
  }
  const MergedTrace merged = merge_alias_groups(sections);
  ComponentSolver solver(merged.sections, options);
  first_pass(solver);
  const bool possible = solver.fit_into(capacity_bytes);
  result.plan = make_plan(merged, solver, sections.lower_bound_bytes);
  if (result.plan.peak_bytes <= capacity_bytes) {
    result.fit = Fit::fits;
    return result;
  }
  result.fit = possible || merged.has_alias ? Fit::unknown : Fit::impossible;
  result.plan.offsets.clear();
  return result;
}

}  // namespace tidemark::memory
