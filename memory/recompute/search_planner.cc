#include "memory/recompute/search_planner.h"

#include <algorithm>

#include "memory/recompute/search/search.h"

namespace tidemark::memory {

RecomputePlan SearchPlanner::best_effort(const StepTrace& trace, int64_t budget_bytes,
                                         const RecomputeOptions& options) const {
  const recompute::Problem problem(trace);
  // What is out of reach for all schedules is not searched for: the nearest is what can be reached.
  const int64_t least_bytes = least_conceivable_peak(trace).bytes;
  recompute::Search search(problem, options.seed, budget_bytes < least_bytes ? 0 : options.work_limit);
  const recompute::SearchResult found = search.run(static_cast<double>(std::max(budget_bytes, least_bytes)), {});
  recompute::PlanState state(problem, static_cast<double>(budget_bytes));
  state.assign(found.runs);
  return make_plan(trace, state.sequence(), "search", search.work());
}

}  // namespace tidemark::memory
