// Checks a graph before anybody trusts it.
#pragma once

#include "graph/op.h"

namespace tidemark {

// Throws Error(config) naming graph, node and value: inputs are external or produced earlier; every node's op accepts
// its inputs and gives outputs of the recorded types, overwrites and count; nobody reads (or overwrites again) a
// version after a later version of its storage was written; an overwritten value has the same byte count, scope and
// category, and its node reads it through that one input only; results are latest versions.
void verify(const Graph& graph, const OpTable& ops);

}  // namespace tidemark
