// Chooses a kernel for every node, and gives weights that kernels want in a layout of their own a `pack` node.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "ops/op_definition.h"

namespace tidemark::compile {

struct LoweredNode {
  std::shared_ptr<const ops::Kernel> kernel;
  std::string kernel_name;
  int packed_which = -1;  // >= 0: a pack node, which runs kernel->pack(packed_which, ...)
  // What the op was asked and said when its inputs were still plain; empty inputs for a pack node.
  std::vector<std::optional<ValueType>> plain_inputs;
  std::vector<OutputSpec> outputs;
};

using LoweredNodes = std::map<NodeId, LoweredNode>;

// Every packed input gets a node "NODE/pack_I" right before its reader: the reader then reads the packed bytes. A
// weight that is updated later in the body is thus packed before, a packed copy never outlives its version. The graph
// must verify before; afterwards packed readers no longer match their op's shape rule. Throws Error(config) if a node
// has no kernel on the device.
LoweredNodes lower(Graph& graph, const ops::OpSet& ops, ops::KernelDevice device, int threads);

}  // namespace tidemark::compile
