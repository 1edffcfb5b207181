#include "memory/recompute/overhead_bound.h"

#include <algorithm>
#include <cmath>

#include "memory/recompute/search/checkpoint_program.h"

namespace tidemark::memory {

int64_t extra_cost_lower_bound(const StepTrace& trace, int64_t budget_bytes, const OverheadBoundOptions& options) {
  const recompute::Problem problem(trace);
  const auto budget = static_cast<double>(budget_bytes);
  const recompute::PlanState plain(problem, budget);
  if (plain.fits() || problem.total_cost <= 0) return 0;
  const std::vector<int32_t> stages = recompute::choose_checkpoints(plain, options.checkpoints);
  const double scale = problem.total_cost / problem.step_count;
  const double enough = static_cast<double>(std::min<int64_t>(options.known_cost, total_cost(trace)) * 1.0) / scale;
  const double bound = recompute::dual_bound(recompute::make_checkpoint_program(problem, budget, stages, scale),
                                             options.work_limit, enough);
  // Costs are whole; the allowance covers the rounding of the sums.
  const double extra = std::ceil(bound * scale * (1 - 1e-9) - 1e-6);
  return std::clamp<int64_t>(static_cast<int64_t>(extra), 0, options.known_cost);
}

}  // namespace tidemark::memory
