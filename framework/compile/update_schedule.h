// When parameters are updated: as soon as the gradient is complete and nobody reads the old version any more.
#pragma once

#include "graph/op.h"

namespace tidemark::compile {

// Moves every node that overwrites a run-scope value (optimizer updates, running statistics) to the earliest place in
// the order at which its inputs exist and all readers of what it overwrites are done. The rest keeps its relative
// order. A gradient then dies right after it is complete instead of at the end of the step.
void hoist_updates(Graph& graph);

// The opposite: all such nodes at the end, in their order.
void sink_updates(Graph& graph);

}  // namespace tidemark::compile
