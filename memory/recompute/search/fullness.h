// How full a plan's stages are: what decides whether an arena is found. Note [Loosening] in arena_loosen.h.
#pragma once

#include "memory/recompute/search/plan_state.h"

namespace tidemark::memory::recompute {

// So many bytes are the share (in [0, 1)) of the budget beside the fixed bytes, and the fixed bytes.
double full_bytes(const PlanState& state, double full_share);

// Sum over the stages of the cube of what is above full_bytes(), a stage at the budget counting 1.
double fullness(const PlanState& state, double full_share);

}  // namespace tidemark::memory::recompute
