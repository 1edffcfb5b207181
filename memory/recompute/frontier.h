// The whole curve of budget against overhead.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/recompute/recompute_planner.h"

namespace tidemark::memory {

struct FrontierPoint {
  int64_t budget_bytes = 0;
  bool reached = false;  // false: no plan was found within the budget; the rest of the point is empty
  RecomputePlan plan;
};

// Plans of the search planner for every budget, in the order given (live bytes; options.offset_planner is not looked
// at). Monotone by construction: a plan for a smaller budget is taken for a larger one wherever it is cheaper, so a
// bigger budget never costs more. Bounds are looked for if options.bound_work_limit is not 0. options.work_limit is for
// all budgets together: each has an equal share. Throws what validate(trace) throws.
std::vector<FrontierPoint> frontier(const StepTrace& trace, const std::vector<int64_t>& budgets_bytes,
                                    const RecomputeOptions& options);

// `count` budgets (at least 2) from the least conceivable peak of the trace to the peak of its own order, evenly
// spaced.
std::vector<int64_t> frontier_budgets(const StepTrace& trace, int count);

}  // namespace tidemark::memory
