// Checks a graph before anybody trusts it.
#pragma once

#include <functional>
#include <vector>

#include "graph/op.h"

namespace tidemark {

// Throws Error(config) naming graph, node and value: inputs are external or produced earlier; every node's op accepts
// its inputs and gives outputs of the recorded types, overwrites and count; nobody reads (or overwrites again) a
// version after a later version of its storage was written; an overwritten value has the same byte count, scope and
// category, and its node reads it through that one input only; results are latest versions.
void verify(const Graph& graph, const OpTable& ops);

// The same with another word for what a node gives: after lowering some nodes read packed operands, which their ops'
// shape rules know nothing of.
using OutputRule = std::function<std::vector<OutputSpec>(const Node&)>;
void verify(const Graph& graph, const OutputRule& outputs_of);

}  // namespace tidemark
