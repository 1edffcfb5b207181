#include "graph/sample_groups.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"

namespace tidemark {
namespace {

// Whether output o of the node goes onto a gradient that stays over the micro-batches of a step.
bool is_on_gradient(const Graph& graph, const Node& node, size_t o) {
  const Value& storage = graph.value(graph.storage(node.outputs[o]));
  return storage.external() && storage.category == Category::gradients;
}

bool is_on_gradients(const Graph& graph, const Node& node) {
  for (size_t o = 0; o < node.outputs.size(); ++o)
    if (is_on_gradient(graph, node, o)) return true;
  return false;
}

bool is_sum(const SampleRule& rule, size_t output) {
  return std::ranges::find(rule.sums, output, &SampleRule::Sum::output) != rule.sums.end();
}

// Whether a sum of this node, or a gradient that stays, goes on from anything but the samples before these: on fewer
// samples at a time it would be added up in another order.
bool mixes_sums(const Graph& graph, const SampleRule& rule, const Node& node) {
  for (const SampleRule::Sum& sum : rule.sums) {
    const bool may_have = sum.accumulator && *sum.accumulator < node.inputs.size();
    const ValueId accumulator = may_have ? node.inputs[*sum.accumulator] : ValueId();
    if (accumulator.valid() && !graph.value(accumulator).external()) return true;
  }
  for (size_t o = 0; o < node.outputs.size(); ++o)
    if (is_on_gradient(graph, node, o) && !is_sum(rule, o)) return true;
  return false;
}

// Goes through the nodes of a body in order.
class GroupFinder {
 public:
  GroupFinder(const Graph& graph, const OpTable& ops, int64_t samples, int64_t group)
      : graph_(graph), ops_(ops), samples_(samples), group_(group) {
    for (const Value& value : graph.values())
      if (value.external() && value.scope == Scope::micro_batch) with_samples_.insert(value.id);
  }

  // The rows of one group at this node; 0: it has no use for them. nullopt: its sums cannot be made in groups.
  std::optional<int64_t> rows_of_group(const Node& node) {
    if (!reads_samples(node)) return is_on_gradients(graph_, node) ? std::nullopt : std::optional<int64_t>(0);
    const auto types = input_types(graph_, node);
    const OpCall call{node.attributes, types};
    const std::optional<SampleRule> rule = ops_.find(node.op).samples(call);
    if (!rule || mixes_sums(graph_, *rule, node)) return std::nullopt;
    for (size_t o : rule->outputs) with_samples_.insert(node.outputs.at(o));
    if (rule->inputs.empty()) return 0;
    if (rule->group > 0) return rule->group == group_ ? std::optional<int64_t>(0) : std::nullopt;
    const int64_t rows = call.input(rule->inputs.front()).shape.dim(0);
    return rows % samples_ == 0 ? std::optional<int64_t>(rows / samples_ * group_) : std::nullopt;
  }

 private:
  bool reads_samples(const Node& node) const {
    return std::ranges::any_of(node.inputs, [&](ValueId v) { return with_samples_.contains(v); });
  }

  const Graph& graph_;
  const OpTable& ops_;
  const int64_t samples_, group_;
  std::set<ValueId> with_samples_;
};

}  // namespace

NodeId sum_in_groups(Graph& graph, const OpTable& ops, int64_t samples, int64_t group) {
  TM_CHECK(samples > 0 && group > 0, "groups of samples");
  std::map<NodeId, int64_t> rows;
  GroupFinder finder(graph, ops, samples, group);
  for (NodeId id : graph.order()) {
    const std::optional<int64_t> of_node = finder.rows_of_group(graph.node(id));
    if (!of_node) return id;
    if (*of_node > 0) rows[id] = *of_node;
  }
  for (const auto& [id, of_node] : rows) graph.mutable_node(id).attributes.set(std::string(kRowsOfGroup), of_node);
  return {};
}

}  // namespace tidemark
