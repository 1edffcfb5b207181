// The cheapest schedule whose arena fits, looked for around a plan whose live bytes do (arena_loosen.h).
#pragma once

#include "memory/recompute/recompute_planner.h"

namespace tidemark::memory {

// Note [Loose fit]
// The offset planner is asked about loosened plans, a dozen of different seeds and shares for one limit on the cost;
// the limit is that of the plan for live bytes at first, then more and more above it. Beside them stand the planner's
// own plans for lower and lower budgets, as they are and as starts for more. After the first that fits, some attempts
// look for cheaper ones. A short search for offsets is enough: what is not found soon is mostly not found late either,
// while the next plan may be an easy one.
//
// `base` is the planner's plan for budget_bytes; its live bytes must fit. Ends with the cheapest plan found whose arena
// fits, laid out; nothing fits: an empty schedule. `work` of the result: of all that was done here.
RecomputePlan fit_by_loosening(const RecomputePlanner& planner, const StepTrace& trace, int64_t budget_bytes,
                               const RecomputeOptions& options, const RecomputePlan& base);

}  // namespace tidemark::memory
