// A schedule whose arena fits, found together with its layout, where no schedule of the wanted cost packs by itself.
#pragma once

#include "memory/recompute/recompute_planner.h"

namespace tidemark::memory {

// Note [Joint fit]
// Several plans, the planner's with more work and then loosened (arena_loosen.h) up to a cost well above the wanted
// one, are each the start of a joint search (joint_search.h); the better half goes on, again and again, until one has a
// layout. That one is made cheaper step by step: a little is taken out, overlaps appear, and the search works them off
// from where it stands, which takes a fraction of what a new start takes. Where it does not succeed, the next step is
// half as large.
//
// `base` is the planner's plan for live bytes, within the budget; `dearest` the extra cost above which nothing is worth
// finding. Ends with the cheapest plan found whose arena fits, laid out; none, the trace is too large for the search,
// or options.offset_options.work_limit below a million: an empty schedule. `work` of the result: of all that was done
// here.
RecomputePlan fit_jointly(const RecomputePlanner& planner, const StepTrace& trace, int64_t budget_bytes,
                          const RecomputeOptions& options, const RecomputePlan& base, int64_t dearest);

}  // namespace tidemark::memory
