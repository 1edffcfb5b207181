// The curve of budget against the extra cost of recomputation, for `tidemark plan --frontier`.
#pragma once

#include <optional>
#include <vector>

#include "framework/train/planned_run.h"

namespace tidemark::train {

// One budget of the curve.
struct BudgetPoint {
  int64_t budget_bytes = 0;
  bool reached = false;  // false: no plan within the budget was found, the rest is empty
  bool least = false;    // the least budget that works: one page less does not
  int64_t peak_bytes = 0;
  double overhead = 0;
  double overhead_lower_bound = 0;
  int64_t micro_batch = 0;
  std::optional<double> predicted_step_seconds;  // where micro-batches were held against each other
};

// Plans for `count` budgets from the least that works to the peak without recomputation, in whole pages, ascending;
// fewer where there are fewer pages. Monotone: a bigger budget never costs more. memory.budget is not looked at, and no
// step predicted. Throws as plan_run.
std::vector<BudgetPoint> plan_frontier(const config::LoadedConfig& config, const ops::OpSet& ops,
                                       const DeviceMemory& device, int count, const PlanOptions& options = {});

}  // namespace tidemark::train
