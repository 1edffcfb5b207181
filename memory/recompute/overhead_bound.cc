#include "memory/recompute/overhead_bound.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "memory/recompute/search/checkpoint_program.h"

namespace tidemark::memory {

namespace {

// One stage alone often says nearly all, at a fraction of the work; several say more where costs add up over time.
constexpr int kFewStages[] = {1, 3};

}  // namespace

int64_t extra_cost_lower_bound(const StepTrace& trace, int64_t budget_bytes, const OverheadBoundOptions& options) {
  const recompute::Problem problem(trace);
  const auto budget = static_cast<double>(budget_bytes);
  const recompute::PlanState plain(problem, budget);
  if (plain.fits() || problem.total_cost <= 0) return 0;
  const double scale = problem.total_cost / problem.step_count;
  // Costs are whole: a bound just above the next lower one is as good.
  const double enough = (static_cast<double>(std::min(options.known_cost, total_cost(trace))) - 0.99) / scale;
  std::vector<int> counts(std::begin(kFewStages), std::end(kFewStages));
  counts.push_back(options.checkpoints);
  double bound = 0;
  for (int count : counts) {
    const std::vector<int32_t> stages = recompute::choose_checkpoints(plain, count);
    const recompute::LinearProgram program = recompute::make_checkpoint_program(problem, budget, stages, scale);
    // Half of the work for the one stage, whose program is small enough for branch and bound.
    const int64_t share = options.work_limit / (count == 1 ? 2 : 4);
    if (bound < enough)
      bound = std::max(bound, count == 1 ? recompute::integer_bound(program, share, enough)
                                         : recompute::dual_bound(program, share, enough));
    if (stages.size() < static_cast<size_t>(count)) break;  // there are no more
  }
  // Costs are whole; the allowance covers the rounding of the sums.
  const double extra = std::ceil(bound * scale * (1 - 1e-9) - 1e-6);
  return std::clamp<int64_t>(static_cast<int64_t>(extra), 0, options.known_cost);
}

}  // namespace tidemark::memory
