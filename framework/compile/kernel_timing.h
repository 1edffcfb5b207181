// The cost of one kernel, by running it alone: what MeasuredCosts keeps.
#pragma once

#include <cstdint>

#include "framework/compile/lowering.h"
#include "graph/graph.h"

namespace tidemark::compile {

// The least nanoseconds of several runs of the node's kernel, in turns on copies of operands of its own, as many as
// `room_bytes` of host memory have room for; from 1 to kMostCostNanoseconds. Throws Error(out_of_memory) with both
// numbers if there is no room for one.
int64_t time_kernel(const Graph& graph, const Node& node, const LoweredNode& lowered, int64_t room_bytes);

}  // namespace tidemark::compile
