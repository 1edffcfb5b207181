// How little a schedule within a budget can cost: printed beside every plan, so that a user sees how much better any
// planner could do.
#pragma once

#include <cstdint>

#include "memory/recompute/step_trace.h"

namespace tidemark::memory {

struct OverheadBoundOptions {
  int64_t work_limit = 300'000'000;  // entries of vectors and rows looked at
  int64_t known_cost = INT64_MAX;    // extra cost of a plan at hand: the search stops where the bound reaches it
};

// Note [Bound on the overhead]
// Checkmate's integer program (Jain et al. 2020), looked at only at some stages (Note [Runs and stages]) and relaxed:
// what is resident while such a stage's base step runs fits the budget; what is read until the next of them, or
// resident there, was resident before or ran again between the two; what runs again needs its inputs likewise. Between
// stages that are neighbours a repeated run must also find room beside all that is resident after it and not made again
// in between. Every schedule within the budget fulfils this, whatever its order of repeated runs; the reverse is not
// true, so the optimum is a bound, never above the cost of a plan within the budget.
//
// Which stages to look at is found out: first the worst one. An optimum of the program is a plan that is right at the
// stages looked at; where it is above the budget elsewhere, a further stage forbids it. Several places are tried, and
// the one that says most is kept. This ends with a plan within the budget, which then is proven optimal, or with the
// work. Programs are solved by branch and bound; what it leaves open is a bound, too.
//
// Extra cost (unit of Step::cost) that every schedule within budget_bytes has at least; 0 if the plain order fits. The
// trace must be valid. What fits no schedule has no bound: the figure means nothing where budget_bytes is below
// least_conceivable_peak().
int64_t extra_cost_lower_bound(const StepTrace& trace, int64_t budget_bytes, const OverheadBoundOptions& options = {});

}  // namespace tidemark::memory
