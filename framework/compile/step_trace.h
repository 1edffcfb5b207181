// A lowered graph as the recompute planners see it, and their schedule back as a graph.
#pragma once

#include <vector>

#include "framework/compile/costs.h"
#include "framework/compile/lowering.h"
#include "graph/op.h"
#include "memory/recompute/schedule.h"
#include "memory/recompute/step_trace.h"

namespace tidemark::compile {

struct StepTraceOptions {
  int64_t alignment = 64;
  int64_t guard_bytes = 0;
  int64_t fixed_bytes = 0;              // segments under the body area
  bool step_values_are_placed = false;  // Scope::step values lie in the step segment
};

// Step i is the i-th node of the order, value j the graph's value j (values that nobody uses have no bytes).
memory::StepTrace step_trace_of(const Graph& graph, const OpTable& ops, const LoweredNodes& lowered, Costs& costs,
                                const StepTraceOptions& options);

// Rewrites order and nodes so that they run as the schedule says: a first run is the node itself, every further run a
// copy on the same kernel, named as further_runs.h says; readers take the latest copy made before them. Returns the
// number of further runs.
int64_t apply_schedule(Graph& graph, LoweredNodes& lowered, const std::vector<int32_t>& steps);

}  // namespace tidemark::compile
