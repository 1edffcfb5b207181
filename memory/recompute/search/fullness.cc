#include "memory/recompute/search/fullness.h"

#include <algorithm>

namespace tidemark::memory::recompute {

double full_bytes(const PlanState& state, double full_share) {
  const double budget = state.budget_bytes();
  return budget - (1 - full_share) * (budget - state.problem().fixed_bytes);
}

double fullness(const PlanState& state, double full_share) {
  const double full = full_bytes(state, full_share);
  const double scale = 1 / (state.budget_bytes() - full);
  double sum = 0;
  for (double bytes : state.stage_bytes()) {
    const double above = std::max(0.0, bytes - full) * scale;
    sum += above * above * above;
  }
  return sum;
}

}  // namespace tidemark::memory::recompute
