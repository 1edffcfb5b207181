// The runs that one move adds: a step at a stage, and what it rests on that is not there.
#pragma once

#include <vector>

#include "memory/recompute/search/plan_state.h"

namespace tidemark::memory::recompute {

enum class InputRule {
  keep,       // missing inputs are kept alive until the stage
  recompute,  // missing inputs run again too, and theirs, down to what is there
  cheaper     // of the two what costs less at the given price of excess bytes
};

class MoveBuilder {
 public:
  explicit MoveBuilder(const PlanState& state);

  // The runs for `step` at `stage`, the step itself first; at most max_runs of them. price: excess bytes that one unit
  // of cost is worth, for InputRule::cheaper.
  const std::vector<Run>& build(int32_t step, int32_t stage, InputRule rule, double price, size_t max_runs);

  // Is an input of `step` neither made in that stage nor alive until then?
  bool misses_input(int32_t step, int32_t stage) const;
  // Stage until which the latest copy of a value lives; >= stage if it is there or made there.
  int32_t available_until(int32_t value, int32_t stage) const;

 private:
  double price_of(int32_t step, int32_t stage, double price, int depth);
  void add(int32_t step, int32_t stage, InputRule rule, double price, size_t max_runs);
  double cost_of_keeping(int32_t value, int32_t stage, double price) const;

  const PlanState& state_;
  const Problem& problem_;
  std::vector<Run> runs_;
  int visits_ = 0;
  int64_t stamp_ = 0;
  std::vector<int64_t> priced_;  // by step: stamp of when its price was found
  std::vector<double> price_;    // by step
  std::vector<int64_t> chosen_;  // by step: stamp of when running it again was found cheaper than keeping
  std::vector<int64_t> added_;   // by step: stamp of when it was added to runs_
};

}  // namespace tidemark::memory::recompute
