// Greedy planners: one pass over the buffers in a fixed order, each to the lowest (first fit) or tightest (best fit)
// place.
#pragma once

#include <string>

#include "memory/arena/greedy_placement.h"
#include "memory/arena/offset_planner.h"

namespace tidemark::memory {

// What comes first. Equals follow by size (largest first), begin, end, and place in the trace.
enum class GreedyOrder {
  size,        // largest first
  area,        // bytes x sections, largest first
  lifetime,    // most sections first
  begin,       // in the order of first use
  contention,  // fullest section of its lifetime first, then size
};

// The order of the trace's buffers for a rule.
std::vector<int32_t> greedy_order(const SectionedTrace& trace, GreedyOrder order);

class GreedyPlanner : public OffsetPlanner {
 public:
  GreedyPlanner(std::string name, GreedyOrder order, FitRule rule)
      : name_(std::move(name)), order_(order), rule_(rule) {}

  std::string_view name() const override { return name_; }
  OffsetPlan minimize(const Trace& trace, const OffsetPlannerOptions& options) const override;

 private:
  std::string name_;
  GreedyOrder order_;
  FitRule rule_;
};

}  // namespace tidemark::memory
