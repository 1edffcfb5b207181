// Kirisame et al.: Dynamic Tensor Rematerialization (ICLR 2021): runs the trace step by step, knowing only the past.
// Where the budget does not hold the next output, the resident value with the least (cost to get it back) / (bytes x
// time since last use) is dropped; what is missing is made again when it is needed. The cost to get a value back counts
// its dropped neighbours.
#pragma once

#include "memory/recompute/recompute_planner.h"

namespace tidemark::memory {

class DtrPlanner : public RecomputePlanner {
 public:
  std::string_view name() const override { return "dtr"; }
  RecomputePlan best_effort(const StepTrace& trace, int64_t budget_bytes,
                            const RecomputeOptions& options) const override;
};

}  // namespace tidemark::memory
