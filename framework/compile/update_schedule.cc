#include "framework/compile/update_schedule.h"

#include <algorithm>
#include <map>

namespace tidemark::compile {
namespace {

bool is_update(const Graph& graph, NodeId id) {
  return std::ranges::any_of(graph.node(id).outputs, [&](ValueId v) {
    return graph.value(v).overwrites.valid() && graph.value(v).scope == Scope::run;
  });
}

struct Split {
  std::vector<NodeId> updates;
  std::vector<NodeId> others;
};

Split split_updates(const Graph& graph) {
  Split split;
  for (NodeId id : graph.order()) (is_update(graph, id) ? split.updates : split.others).push_back(id);
  return split;
}

// Position in `order` after the last node that produces an input of `update` or reads what it overwrites.
size_t earliest_place(const Graph& graph, const std::vector<NodeId>& order, NodeId update) {
  const Node& node = graph.node(update);
  std::vector<ValueId> overwritten;
  for (ValueId v : node.outputs)
    if (graph.value(v).overwrites.valid()) overwritten.push_back(graph.value(v).overwrites);
  for (size_t i = order.size(); i > 0; --i) {
    const Node& other = graph.node(order[i - 1]);
    const bool produces =
        std::ranges::any_of(other.outputs, [&](ValueId v) { return std::ranges::count(node.inputs, v) > 0; });
    const bool reads =
        std::ranges::any_of(other.inputs, [&](ValueId v) { return std::ranges::count(overwritten, v) > 0; });
    if (produces || reads) return i;
  }
  return 0;
}

}  // namespace

void hoist_updates(Graph& graph) {
  Split split = split_updates(graph);
  // All updates are placed against the order of the other nodes at once, then merged; updates that depend on other
  // updates (two versions of one statistic) are placed one after the other, so they see their predecessors.
  std::vector<NodeId> order = std::move(split.others);
  for (NodeId update : split.updates)
    order.insert(order.begin() + static_cast<int64_t>(earliest_place(graph, order, update)), update);
  graph.set_order(std::move(order));
}

void sink_updates(Graph& graph) {
  Split split = split_updates(graph);
  split.others.insert(split.others.end(), split.updates.begin(), split.updates.end());
  graph.set_order(std::move(split.others));
}

}  // namespace tidemark::compile
