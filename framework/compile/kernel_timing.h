// The cost of one kernel, by running it alone: what MeasuredCosts keeps.
#pragma once

#include <cstdint>

#include "framework/compile/lowering.h"
#include "graph/graph.h"

namespace tidemark::compile {

// The least CPU time of the calling thread over several runs of the node's kernel, in nanoseconds, from 1 to
// kMostCostNanoseconds. Runs take turns on copies of operands of their own, up to six, fewer if they are large or if
// `room_bytes` of host memory hold fewer beside the workspace. Throws Error(out_of_memory) with both numbers if they do
// not hold one.
int64_t time_kernel(const Graph& graph, const Node& node, const LoweredNode& lowered, int64_t room_bytes);

}  // namespace tidemark::compile
