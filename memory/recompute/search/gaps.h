// Where bytes lie idle: a copy that crosses a stage without being read there.
#pragma once

#include <vector>

#include "memory/recompute/search/plan_state.h"

namespace tidemark::memory::recompute {

// The value's copy is needed at stage `begin` and next at stage `end`; between them its bytes could be free.
struct Gap {
  int32_t value = 0;
  int32_t begin = 0;
  int32_t end = 0;
};

// Gaps of values with bytes across a stage. If steps run again in the stage, also gaps that begin or end in it.
void find_gaps(const PlanState& state, int32_t stage, std::vector<Gap>& gaps);

// Sums over stages of what is above the budget, for any range in O(1).
class ExcessSums {
 public:
  // With `ranges` the sums are found too, else only the worst stage and those above the budget.
  void update(const PlanState& state, bool ranges);
  // Over stages [begin, end).
  double bytes(int32_t begin, int32_t end) const { return end > begin ? bytes_[end] - bytes_[begin] : 0; }
  int32_t stages(int32_t begin, int32_t end) const { return end > begin ? stages_[end] - stages_[begin] : 0; }
  int32_t worst_stage() const { return worst_; }  // -1: none is above
  const std::vector<int32_t>& stages_above() const { return above_; }

 private:
  void sum_up(const PlanState& state);

  std::vector<double> bytes_;
  std::vector<int32_t> stages_;
  std::vector<int32_t> above_;
  int32_t worst_ = -1;
};

}  // namespace tidemark::memory::recompute
