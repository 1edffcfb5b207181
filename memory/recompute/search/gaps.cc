#include "memory/recompute/search/gaps.h"

#include <algorithm>

namespace tidemark::memory::recompute {

void find_gaps(const PlanState& state, int32_t stage, std::vector<Gap>& gaps) {
  gaps.clear();
  const Problem& problem = state.problem();
  const bool mixed = state.has_extra(stage);
  const int32_t from = mixed ? stage - 1 : stage;
  for (int32_t v = 0; v < problem.value_count(); ++v) {
    const int32_t maker = problem.maker[v];
    if (maker >= stage || problem.bytes[v] <= 0 || !state.is_read_after(v, from)) continue;
    const StageList::Neighbours reads = state.reads_around(v, from);
    if (!mixed && reads.last == stage) continue;  // not idle: the base step reads it
    const StageList::Neighbours runs = state.runs_around(maker, from);
    if (reads.next < runs.next) gaps.push_back({v, std::max(runs.last, reads.last), reads.next});
    if (!mixed || (reads.next != stage && runs.next != stage)) continue;
    const int32_t read_after = state.next_read(v, stage);
    if (read_after < state.next_run(maker, stage)) gaps.push_back({v, stage, read_after});
  }
}

void ExcessSums::update(const PlanState& state, bool ranges) {
  const std::vector<double>& stage_bytes = state.stage_bytes();
  above_.clear();
  worst_ = -1;
  double worst_bytes = state.budget_bytes();
  for (size_t t = 0; t < stage_bytes.size(); ++t) {
    if (stage_bytes[t] <= state.budget_bytes()) continue;
    above_.push_back(static_cast<int32_t>(t));
    if (stage_bytes[t] <= worst_bytes) continue;
    worst_bytes = stage_bytes[t];
    worst_ = static_cast<int32_t>(t);
  }
  if (ranges) sum_up(state);
}

void ExcessSums::sum_up(const PlanState& state) {
  const std::vector<double>& stage_bytes = state.stage_bytes();
  bytes_.resize(stage_bytes.size() + 1);
  stages_.resize(stage_bytes.size() + 1);
  bytes_[0] = 0;
  stages_[0] = 0;
  for (size_t t = 0; t < stage_bytes.size(); ++t) {
    const double excess = std::max(0.0, stage_bytes[t] - state.budget_bytes());
    bytes_[t + 1] = bytes_[t] + excess;
    stages_[t + 1] = stages_[t] + (excess > 0);
  }
}

}  // namespace tidemark::memory::recompute
