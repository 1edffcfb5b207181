// The relaxation of Note [Bound on the overhead] as a linear program.
#pragma once

#include <vector>

#include "memory/recompute/search/dual_bound.h"
#include "memory/recompute/search/plan_state.h"

namespace tidemark::memory::recompute {

// At most `count` of the stages that are above the budget: the worst, and others spread evenly.
std::vector<int32_t> choose_checkpoints(const PlanState& plain, int count);

// Costs are divided by cost_scale. Stages ascending.
LinearProgram make_checkpoint_program(const Problem& problem, double budget_bytes, const std::vector<int32_t>& stages,
                                      double cost_scale);

}  // namespace tidemark::memory::recompute
