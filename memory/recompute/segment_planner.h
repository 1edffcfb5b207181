// Chen, Xu, Zhang, Guestrin: Training Deep Nets with Sublinear Memory Cost (2016), for any trace: the steps before the
// peak are cut into equal segments; what only the later part reads is dropped, and the segment runs again when the
// first of it is needed. About sqrt(n) segments are the paper's choice; here all numbers up to twice that are tried,
// and the cheapest plan that fits is taken.
#pragma once

#include "memory/recompute/recompute_planner.h"

namespace tidemark::memory {

class SegmentPlanner : public RecomputePlanner {
 public:
  std::string_view name() const override { return "segment_sqrt"; }
  RecomputePlan best_effort(const StepTrace& trace, int64_t budget_bytes,
                            const RecomputeOptions& options) const override;
};

}  // namespace tidemark::memory
