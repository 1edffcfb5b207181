#include "graph/sample_groups.h"

#include <algorithm>
#include <map>

#include "base/error.h"

namespace tidemark {
namespace {

// The rows of one group at this node; 0: it makes no sums that need them. nullopt: its sums cannot be made in groups.
std::optional<int64_t> rows_of_group(const Graph& graph, const OpTable& ops, const Node& node, int64_t samples,
                                     int64_t group) {
  const auto types = input_types(graph, node);
  const OpCall call{node.attributes, types};
  const std::optional<SampleRule> rule = ops.find(node.op).samples(call);
  if (!rule) return std::nullopt;
  if (rule->inputs.empty()) return 0;
  if (rule->group > 0) return rule->group == group ? std::optional<int64_t>(0) : std::nullopt;
  if (rule->sums.empty()) return 0;
  const int64_t rows = call.input(rule->inputs.front()).shape.dim(0);
  if (rows % samples != 0) return std::nullopt;
  return rows / samples * group;
}

// A sum that goes on from another one of this body: on fewer samples at a time the two would take turns.
bool goes_on(const Graph& graph, const OpTable& ops, const Node& node) {
  const auto types = input_types(graph, node);
  const std::optional<SampleRule> rule = ops.find(node.op).samples({node.attributes, types});
  return rule && std::ranges::any_of(rule->sums, [&](const SampleRule::Sum& sum) {
           const bool has_accumulator = sum.accumulator && *sum.accumulator < node.inputs.size();
           const ValueId accumulator = has_accumulator ? node.inputs[*sum.accumulator] : ValueId();
           return accumulator.valid() && !graph.value(accumulator).external();
         });
}

}  // namespace

NodeId sum_in_groups(Graph& graph, const OpTable& ops, int64_t samples, int64_t group) {
  TM_CHECK(samples > 0 && group > 0, "groups of samples");
  std::map<NodeId, int64_t> rows;
  for (NodeId id : graph.order()) {
    const std::optional<int64_t> of_node = rows_of_group(graph, ops, graph.node(id), samples, group);
    if (!of_node || goes_on(graph, ops, graph.node(id))) return id;
    if (*of_node > 0) rows[id] = *of_node;
  }
  for (const auto& [id, of_node] : rows) graph.mutable_node(id).attributes.set(std::string(kRowsOfGroup), of_node);
  return {};
}

}  // namespace tidemark
