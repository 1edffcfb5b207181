// The relaxation of Note [Bound on the overhead] as a linear program.
#pragma once

#include <vector>

#include "memory/recompute/search/dual_bound.h"
#include "memory/recompute/search/plan_state.h"

namespace tidemark::memory::recompute {

// Which stages say most beside the worst.
enum class CheckpointRule {
  peaks_of_plain_order,   // where the plain order's bytes have a local maximum
  step_peaks,             // where the bytes that the base step itself needs have one
  step_peaks_after_worst  // the same, of the stages after the worst: mostly the backward pass
};

// At most `count` of the stages that are above the budget: the worst, and of those by the rule some spread evenly.
std::vector<int32_t> choose_checkpoints(const PlanState& plain, int count, CheckpointRule rule);

// Costs are divided by cost_scale. Stages ascending.
LinearProgram make_checkpoint_program(const Problem& problem, double budget_bytes, const std::vector<int32_t>& stages,
                                      double cost_scale);

}  // namespace tidemark::memory::recompute
