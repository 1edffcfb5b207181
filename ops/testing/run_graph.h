// A small interpreter for graphs in tests: every node with the kernel that the op's list gives, each value in guarded
// bytes of its own. No planning, no sharing but for overwritten values.
#pragma once

#include <map>
#include <vector>

#include "ops/op_definition.h"

namespace tidemark::ops::testing {

using ValueBytes = std::map<ValueId, std::vector<std::byte>>;

// `externals` holds the bytes of every external value that a node reads. Returns the bytes of every value, each as it
// was when it was made: of an overwritten value, the old version too. Verifies the graph first. Throws what verify(),
// choose_kernel() and kernels throw, and Error(data) naming node and value for a write outside an output or workspace.
ValueBytes run_graph(const Graph& graph, const OpSet& ops, const ValueBytes& externals, int threads = 1);

}  // namespace tidemark::ops::testing
