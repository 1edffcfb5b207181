// Optimal checkpointing of a chain (chain_dp.h) for any trace: the steps before the peak are cut into blocks where at
// most one of their values crosses; what the rest of the trace reads of a block is what its backward part needs. Blocks
// recomputed more than once are within its reach, single steps inside a block are not. The chain is a model of the
// trace: its memory is varied until the real schedule fits.
#pragma once

#include "memory/recompute/recompute_planner.h"

namespace tidemark::memory {

class ChainPlanner : public RecomputePlanner {
 public:
  std::string_view name() const override { return "chain"; }
  RecomputePlan best_effort(const StepTrace& trace, int64_t budget_bytes,
                            const RecomputeOptions& options) const override;
};

}  // namespace tidemark::memory
