// A recompute plan whose arena, laid out by an offset planner, fits the budget.
#pragma once

#include "memory/recompute/recompute_planner.h"

namespace tidemark::memory {

// Lays out the plan's copies and workspaces: fills offsets and peak_arena_bytes.
void lay_out(const StepTrace& trace, const RecomputeOptions& options, RecomputePlan& plan);

// Plans against live bytes, lays out, and where the arena is above the budget plans again with a live budget that is
// lower by what fragmentation took. Ends with the cheapest plan whose arena fits, else with the lowest arena seen.
// options.offset_planner must be set.
RecomputePlan plan_in_arena(const RecomputePlanner& planner, const StepTrace& trace, int64_t budget_bytes,
                            const RecomputeOptions& options);

}  // namespace tidemark::memory
