// Step traces from the graphs of the literature: networkx's node-link JSON, one node per step, one value per node.
#pragma once

#include <string>
#include <string_view>

#include "memory/recompute/step_trace.h"

namespace tidemark::memory {

// Reads `nodes` (each with `id` or `name`; bytes in `cost_ram` or `out_cost`, cost in `cost_cpu` or `duration`) and
// `links` (ends in `source` and `target`, or `0` and `1`). Steps stand in the order of `graph.order` where it is given,
// else in the order of the nodes if every link goes forward, else in a topological order that keeps the nodes' order
// where it can. Throws Error(data) that begins with `name` and says which node or link is wrong: broken JSON, a missing
// or repeated id, no size or cost, a negative or fractional one, a link to an unknown node, a cycle.
StepTrace parse_graph_json(std::string_view text, const std::string& name);

// The file at `path`, named by it. Also throws Error(io).
StepTrace read_graph_json(const std::string& path);

}  // namespace tidemark::memory
