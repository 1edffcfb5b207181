#include "memory/recompute/none_planner.h"

namespace tidemark::memory {

RecomputePlan NonePlanner::best_effort(const StepTrace& trace, int64_t, const RecomputeOptions&) const {
  return make_plan(trace, plain_order(trace), "none", 0);
}

}  // namespace tidemark::memory
