// A recompute plan whose arena, laid out by an offset planner, fits the budget.
#pragma once

#include "memory/recompute/recompute_planner.h"

namespace tidemark::memory {

// Lays out the plan's copies and workspaces: fills offsets and peak_arena_bytes.
void lay_out(const StepTrace& trace, const RecomputeOptions& options, RecomputePlan& plan);

// The same within a budget, fixed_bytes included; false, and nothing filled, where no offsets are found.
bool lay_out_within(const StepTrace& trace, int64_t budget_bytes, const RecomputeOptions& options, RecomputePlan& plan);

// Plans against live bytes and lays out. Where the arena is above the budget, plans that leave more room are looked for
// run by run (arena_loose_fit.h) if the planner allows that, else the planner is asked again for lower budgets, by what
// fragmentation took. Ends with the cheapest plan whose arena fits, else with the lowest live bytes seen, laid out.
// options.offset_planner must be set.
RecomputePlan plan_in_arena(const RecomputePlanner& planner, const StepTrace& trace, int64_t budget_bytes,
                            const RecomputeOptions& options);

}  // namespace tidemark::memory
