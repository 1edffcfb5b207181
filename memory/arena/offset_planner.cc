#include "memory/arena/offset_planner.h"

#include "base/error.h"
#include "memory/arena/capacity_check.h"

namespace tidemark::memory {

FitResult OffsetPlanner::fit(const Trace& trace, int64_t capacity_bytes, const OffsetPlannerOptions& options) const {
  validate(trace);
  check_capacity(trace, capacity_bytes);
  FitResult result;
  result.plan = minimize(trace, options);
  if (result.plan.peak_bytes <= capacity_bytes) {
    result.fit = Fit::fits;
    return result;
  }
  result.fit = result.plan.lower_bound_bytes > capacity_bytes ? Fit::impossible : Fit::unknown;
  result.plan.offsets.clear();
  return result;
}

}  // namespace tidemark::memory
