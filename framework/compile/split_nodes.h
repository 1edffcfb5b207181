// Nodes that do something dear and then something cheap, as two: recomputation then keeps what is dear to make.
#pragma once

#include "graph/graph.h"
#include "ops/op_definition.h"

namespace tidemark::compile {

// Replaces every node whose op has a SplitRule for it by the parts, in place and in order. Values keep their names and
// bits. The graph must verify before, and does afterwards.
void split_nodes(Graph& graph, const ops::OpSet& ops);

}  // namespace tidemark::compile
