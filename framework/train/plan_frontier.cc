#include "framework/train/plan_frontier.h"

#include <limits>

#include "base/error.h"
#include "framework/compile/compile.h"

namespace tidemark::train {
namespace {

class Frontier {
 public:
  Frontier(const config::LoadedConfig& config, const ops::OpSet& ops, const DeviceMemory& device,
           const PlanOptions& options)
      : config_(config), ops_(ops), device_(device), options_(options), run_(prepare_run(config)) {
    options_.predict_step = compile::CostSum::none;
  }

  std::vector<BudgetPoint> run(int count) {
    compile_run(run_, config_, ops_, device_, std::numeric_limits<int64_t>::max(), options_);
    const int64_t page = device_.granularity_bytes(), most = run_.planned_peak_bytes;
    const int64_t least = least_budget(device_.round_up(run_.program->run_segment_bytes));
    for (int i = 0; i < count; ++i) {
      const int64_t budget_bytes = i == 0 ? least : device_.round_up(least + (most - least) * i / (count - 1));
      if (!points_.empty() && budget_bytes - points_.back().budget_bytes < page) continue;
      add(budget_bytes);
    }
    points_.front().least = true;
    return std::move(points_);
  }

 private:
  // Refused budgets name it. Where the parameters alone do, that is the least.
  int64_t least_budget(int64_t parameters_bytes) {
    try {
      compile_run(run_, config_, ops_, device_, parameters_bytes, options_);
    } catch (const compile::BudgetRefusal& refusal) {
      return refusal.least_budget_bytes();
    }
    return run_.planned_peak_bytes;
  }

  // A plan for a smaller budget is a plan for this one too: a bigger budget never costs more.
  void add(int64_t budget_bytes) {
    BudgetPoint point = plan(budget_bytes);
    if (!points_.empty() && points_.back().reached && (!point.reached || point.overhead > points_.back().overhead)) {
      point = points_.back();
      point.budget_bytes = budget_bytes;
    }
    points_.push_back(point);
  }

  BudgetPoint plan(int64_t budget_bytes) {
    BudgetPoint point{.budget_bytes = budget_bytes};
    try {
      compile_run(run_, config_, ops_, device_, budget_bytes, options_);
    } catch (const compile::BudgetRefusal&) {
      return point;
    }
    point.reached = run_.planned_peak_bytes <= budget_bytes;
    point.peak_bytes = run_.planned_peak_bytes;
    point.overhead = run_.recompute_overhead;
    point.overhead_lower_bound = run_.recompute_overhead_lower_bound;
    point.micro_batch = run_.batch.micro_batch;
    point.predicted_step_seconds = run_.predicted_step_seconds;
    return point;
  }

  const config::LoadedConfig& config_;
  const ops::OpSet& ops_;
  const DeviceMemory& device_;
  PlanOptions options_;
  PlannedRun run_;
  std::vector<BudgetPoint> points_;
};

}  // namespace

std::vector<BudgetPoint> plan_frontier(const config::LoadedConfig& config, const ops::OpSet& ops,
                                       const DeviceMemory& device, int count, const PlanOptions& options) {
  return Frontier(config, ops, device, options).run(count);
}

}  // namespace tidemark::train
