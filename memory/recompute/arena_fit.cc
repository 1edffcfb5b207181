#include "memory/recompute/arena_fit.h"

#include <algorithm>

namespace tidemark::memory {
namespace {

constexpr int kMaxTries = 8;

bool better(const RecomputePlan& a, const RecomputePlan& b, int64_t budget_bytes) {
  const bool a_fits = a.peak_arena_bytes <= budget_bytes;
  const bool b_fits = b.peak_arena_bytes <= budget_bytes;
  if (a_fits != b_fits) return a_fits;
  return a_fits ? a.extra_cost < b.extra_cost : a.peak_arena_bytes < b.peak_arena_bytes;
}

}  // namespace

void lay_out(const StepTrace& trace, const RecomputeOptions& options, RecomputePlan& plan) {
  plan.offsets = options.offset_planner->minimize(arena_trace(trace, plan.schedule), options.offset_options);
  plan.peak_arena_bytes = trace.fixed_bytes + plan.offsets.peak_bytes;
}

RecomputePlan plan_in_arena(const RecomputePlanner& planner, const StepTrace& trace, int64_t budget_bytes,
                            const RecomputeOptions& options) {
  RecomputePlan best = make_plan(trace, plain_order(trace), std::string(planner.name()), 0);
  if (best.peak_live_bytes <= budget_bytes) lay_out(trace, options, best);
  if (best.peak_live_bytes <= budget_bytes && best.peak_arena_bytes <= budget_bytes) return best;
  int64_t live_budget = budget_bytes;
  int64_t work = 0;
  for (int attempt = 0; attempt < kMaxTries; ++attempt) {
    RecomputePlan plan = planner.best_effort(trace, live_budget, options);
    const bool met = plan.peak_live_bytes <= live_budget;
    lay_out(trace, options, plan);
    work += plan.work;
    const int64_t above = plan.peak_arena_bytes - budget_bytes;
    if (best.peak_arena_bytes == 0 || better(plan, best, budget_bytes)) best = std::move(plan);
    if (above <= 0 || !met) break;
    // What the layout lost at this budget it will about lose at the next: go down by it, further each time.
    live_budget = std::min(live_budget, best.peak_live_bytes) - above * (attempt + 2) / 2;
  }
  best.work = work;
  return best;
}

}  // namespace tidemark::memory
