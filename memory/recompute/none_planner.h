// The plain order: nothing runs twice. The measure for the others.
#pragma once

#include "memory/recompute/recompute_planner.h"

namespace tidemark::memory {

class NonePlanner : public RecomputePlanner {
 public:
  std::string_view name() const override { return "none"; }
  RecomputePlan best_effort(const StepTrace& trace, int64_t budget_bytes,
                            const RecomputeOptions& options) const override;
};

}  // namespace tidemark::memory
