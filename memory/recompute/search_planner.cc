#include "memory/recompute/search_planner.h"

#include <algorithm>

#include "memory/recompute/search/search.h"

namespace tidemark::memory {

RecomputePlan SearchPlanner::best_effort(const StepTrace& trace, int64_t budget_bytes,
                                         const RecomputeOptions& options) const {
  const recompute::Problem problem(trace);
  recompute::Search search(problem, options.seed, options.work_limit);
  const recompute::SearchResult found = search.run(static_cast<double>(budget_bytes), {});
  recompute::PlanState state(problem, static_cast<double>(budget_bytes));
  state.assign(found.runs);
  return make_plan(trace, state.sequence(), "search", search.work());
}

}  // namespace tidemark::memory
