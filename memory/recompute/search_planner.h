// Tidemark's own: a search over single runs of single steps (search/plan_state.h). Greedy repair of the plain order
// under two kinds of gain, the better one pruned and improved by taking parts out and repairing them with noise.
#pragma once

#include "memory/recompute/recompute_planner.h"

namespace tidemark::memory {

class SearchPlanner : public RecomputePlanner {
 public:
  std::string_view name() const override { return "search"; }
  RecomputePlan best_effort(const StepTrace& trace, int64_t budget_bytes,
                            const RecomputeOptions& options) const override;
  bool allows_single_runs() const override { return true; }
};

}  // namespace tidemark::memory
