// The recommended planner: the cheapest method that is good enough, up to a proof. See Note [Portfolio] in the .cc.
#pragma once

#include "memory/arena/offset_planner.h"

namespace tidemark::memory {

class PortfolioPlanner : public OffsetPlanner {
 public:
  std::string_view name() const override { return "portfolio"; }
  OffsetPlan minimize(const Trace& trace, const OffsetPlannerOptions& options) const override;
  FitResult fit(const Trace& trace, int64_t capacity_bytes, const OffsetPlannerOptions& options) const override;
};

}  // namespace tidemark::memory
