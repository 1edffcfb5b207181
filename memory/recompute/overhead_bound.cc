#include "memory/recompute/overhead_bound.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "memory/recompute/search/checkpoint_program.h"

namespace tidemark::memory {

namespace {

using recompute::CheckpointRule;

struct Look {
  int stages = 1;
  CheckpointRule rule = CheckpointRule::peaks_of_plain_order;
  int64_t work_share = 4;  // one in so many
};

// One stage alone often says nearly all, at a fraction of the work, and its program is small enough for branch and
// bound; several say more where costs add up over time.
std::vector<Look> looks(int checkpoints) {
  return {{1, CheckpointRule::peaks_of_plain_order, 2},
          {3, CheckpointRule::peaks_of_plain_order, 4},
          {6, CheckpointRule::step_peaks_after_worst, 4},
          {checkpoints, CheckpointRule::step_peaks, 4}};
}

}  // namespace

int64_t extra_cost_lower_bound(const StepTrace& trace, int64_t budget_bytes, const OverheadBoundOptions& options) {
  const recompute::Problem problem(trace);
  const auto budget = static_cast<double>(budget_bytes);
  const recompute::PlanState plain(problem, budget);
  if (plain.fits() || problem.total_cost <= 0) return 0;
  const double scale = problem.total_cost / problem.step_count;
  // Costs are whole: a bound just above the next lower one is as good.
  const double enough = (static_cast<double>(std::min(options.known_cost, total_cost(trace))) - 0.99) / scale;
  double bound = 0;
  for (const Look& look : looks(options.checkpoints)) {
    if (bound >= enough) break;
    const std::vector<int32_t> stages = recompute::choose_checkpoints(plain, look.stages, look.rule);
    const recompute::LinearProgram program = recompute::make_checkpoint_program(problem, budget, stages, scale);
    const int64_t work = options.work_limit / look.work_share;
    bound = std::max(bound, look.stages == 1 ? recompute::integer_bound(program, work, enough)
                                             : recompute::dual_bound(program, work, enough));
  }
  // Costs are whole; the allowance covers the rounding of the sums.
  const double extra = std::ceil(bound * scale * (1 - 1e-9) - 1e-6);
  return std::clamp<int64_t>(static_cast<int64_t>(extra), 0, options.known_cost);
}

}  // namespace tidemark::memory
