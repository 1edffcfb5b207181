#include "memory/recompute/recompute_planner.h"

#include <algorithm>

#include "base/error.h"
#include "memory/recompute/arena_fit.h"
#include "memory/recompute/overhead_bound.h"

namespace tidemark::memory {
namespace {

[[noreturn]] void refuse(const StepTrace& trace, int64_t budget_bytes, const RecomputePlan& lowest, bool in_arena,
                         std::string_view planner) {
  const SchedulePeak peak = live_peak(trace, lowest.schedule);
  const LivePeak least = least_conceivable_peak(trace);
  const auto step_text = [&](int32_t step) {
    return "step " + std::to_string(step) + " '" + trace.steps[step].name + "'";
  };
  const int64_t reached = in_arena ? lowest.peak_arena_bytes : lowest.peak_live_bytes;
  throw Error(ErrorCode::out_of_memory,
              trace.name + ": no schedule within " + std::to_string(budget_bytes) + " bytes; the least budget that '" +
                  std::string(planner) + "' reaches is " + std::to_string(reached) + " bytes, set by " +
                  step_text(lowest.schedule.steps[peak.position]) + "; no schedule at all needs less than " +
                  std::to_string(least.bytes) + " bytes, for " + step_text(least.step));
}

void add_bound(const StepTrace& trace, int64_t budget_bytes, const RecomputeOptions& options, RecomputePlan& plan) {
  OverheadBoundOptions bound;
  bound.work_limit = options.bound_work_limit;
  bound.known_cost = plan.extra_cost;
  plan.extra_cost_lower_bound = extra_cost_lower_bound(trace, budget_bytes, bound);
  const int64_t cost = total_cost(trace);
  plan.overhead_lower_bound =
      cost > 0 ? static_cast<double>(plan.extra_cost_lower_bound) / static_cast<double>(cost) : 0;
}

}  // namespace

RecomputePlan RecomputePlanner::plan(const StepTrace& trace, int64_t budget_bytes,
                                     const RecomputeOptions& options) const {
  validate(trace);
  const bool in_arena = options.offset_planner != nullptr;
  RecomputePlan plan =
      in_arena ? plan_in_arena(*this, trace, budget_bytes, options) : best_effort(trace, budget_bytes, options);
  if ((in_arena ? plan.peak_arena_bytes : plan.peak_live_bytes) > budget_bytes && !trace.steps.empty())
    refuse(trace, budget_bytes, plan, in_arena, name());
  if (options.bound_work_limit > 0) add_bound(trace, budget_bytes, options, plan);
  return plan;
}

RecomputePlan make_plan(const StepTrace& trace, std::vector<int32_t> steps, std::string planner, int64_t work) {
  RecomputePlan plan;
  plan.schedule = make_schedule(trace, std::move(steps));
  const int64_t cost = total_cost(trace);
  plan.extra_cost = schedule_cost(trace, plan.schedule) - cost;
  plan.overhead = cost > 0 ? static_cast<double>(plan.extra_cost) / static_cast<double>(cost) : 0;
  plan.peak_live_bytes = live_peak(trace, plan.schedule).bytes;
  plan.planner = std::move(planner);
  plan.work = work;
  return plan;
}

}  // namespace tidemark::memory
