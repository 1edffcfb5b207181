#include "graph/sample_groups.h"

#include <algorithm>
#include <map>

#include "base/error.h"

namespace tidemark {
namespace {

bool is_sum(const SampleRule& rule, size_t output) {
  return std::ranges::find(rule.sums, output, &SampleRule::Sum::output) != rule.sums.end();
}

// Whether a gradient that stays over micro-batches, or a sum of this node, goes on from anything but the samples before
// these: on fewer samples at a time it would be added up in another order.
bool mixes_sums(const Graph& graph, const SampleRule& rule, const Node& node) {
  for (const SampleRule::Sum& sum : rule.sums) {
    const bool may_have = sum.accumulator && *sum.accumulator < node.inputs.size();
    const ValueId accumulator = may_have ? node.inputs[*sum.accumulator] : ValueId();
    if (accumulator.valid() && !graph.value(accumulator).external()) return true;
  }
  for (size_t o = 0; o < node.outputs.size(); ++o) {
    const Value& storage = graph.value(graph.storage(node.outputs[o]));
    if (storage.external() && storage.category == Category::gradients && !is_sum(rule, o)) return true;
  }
  return false;
}

// The rows of one group at this node; 0: it has no use for them. nullopt: its sums cannot be made in groups.
std::optional<int64_t> rows_of_group(const Graph& graph, const OpTable& ops, const Node& node, int64_t samples,
                                     int64_t group) {
  const auto types = input_types(graph, node);
  const OpCall call{node.attributes, types};
  const std::optional<SampleRule> rule = ops.find(node.op).samples(call);
  if (!rule || mixes_sums(graph, *rule, node)) return std::nullopt;
  if (rule->inputs.empty()) return 0;
  if (rule->group > 0) return rule->group == group ? std::optional<int64_t>(0) : std::nullopt;
  const int64_t rows = call.input(rule->inputs.front()).shape.dim(0);
  if (rows % samples == 0) return rows / samples * group;
  return rule->sums.empty() ? std::optional<int64_t>(0) : std::nullopt;  // of something else than the samples
}

}  // namespace

NodeId sum_in_groups(Graph& graph, const OpTable& ops, int64_t samples, int64_t group) {
  TM_CHECK(samples > 0 && group > 0, "groups of samples");
  std::map<NodeId, int64_t> rows;
  for (NodeId id : graph.order()) {
    const std::optional<int64_t> of_node = rows_of_group(graph, ops, graph.node(id), samples, group);
    if (!of_node) return id;
    if (*of_node > 0) rows[id] = *of_node;
  }
  for (const auto& [id, of_node] : rows) graph.mutable_node(id).attributes.set(std::string(kRowsOfGroup), of_node);
  return {};
}

}  // namespace tidemark
