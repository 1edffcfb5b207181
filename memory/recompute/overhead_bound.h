// How little a schedule within a budget can cost: printed beside every plan, so that a user sees how much better any
// planner could do.
#pragma once

#include <cstdint>

#include "memory/recompute/step_trace.h"

namespace tidemark::memory {

struct OverheadBoundOptions {
  int checkpoints = 12;             // stages at which the memory is looked at, at most
  int64_t work_limit = 40'000'000;  // in terms of the program that is looked at
  int64_t known_cost = INT64_MAX;   // extra cost of a plan at hand: the search stops where the bound reaches it
};

// Note [Bound on the overhead]
// Checkmate's integer program (Jain et al. 2020), looked at only at some of the steps that are above the budget in the
// plain order, and relaxed: what is resident while such a step runs fits the budget; what is read until the next of
// them, or resident there, was resident before or ran again between the two; what runs again needs its inputs likewise.
// Every schedule within the budget fulfils this, whatever its order of repeated runs; the reverse is not true, so the
// bound is one. It is never above the cost of a plan within the budget. The program of the worst step alone says most
// of it and is small enough for branch and bound; those of several steps are bounded as linear programs (Note [Dual
// bound]). They say the more, the more bytes the steps need that they look at, so the steps are chosen by that; and
// each has the rows of its single-step program over the sums of the later epochs, which fractional solutions would
// escape.
//
// Extra cost (unit of Step::cost) that every schedule within budget_bytes has at least; 0 if the plain order fits. The
// trace must be valid. What fits no schedule has no bound: the figure means nothing where budget_bytes is below
// least_conceivable_peak().
int64_t extra_cost_lower_bound(const StepTrace& trace, int64_t budget_bytes, const OverheadBoundOptions& options = {});

}  // namespace tidemark::memory
