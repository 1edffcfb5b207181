// From a plan that fits to a cheaper one: needless runs out, then parts taken out and repaired with noise.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/recompute/search/plan_state.h"
#include "memory/recompute/search/repair.h"

namespace tidemark::memory::recompute {

// Removes runs that the budget does not need, the dearest first, until none is left. The state must fit.
void prune(PlanState& state);

struct ImproveLimits {
  double target_cost = 0;  // stops when the extra cost is not above this: proven best
  int64_t flips = 0;       // stops after so many
  // Stops after so many (and a multiple of what the best took) without a better one: the more, the more is at stake,
  // with the cube of the overhead in percent. The most grows where the overhead is high.
  double idle_flips = 0;
  double idle_flips_per_overhead = 0;
  double most_idle_flips = 0;
  // Above 0: all flips are used, and a round may end dearer than it began by up to this share of the best plan's cost,
  // falling to nothing with the square of the flips that are left. Pays where plans of quite other runs are better.
  double threshold = 0;
};

// The state must fit; afterwards it holds the best plan found, which is never dearer.
void improve(PlanState& state, Repair& repair, Random& random, const ImproveLimits& limits);

}  // namespace tidemark::memory::recompute
