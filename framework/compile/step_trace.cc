#include "framework/compile/step_trace.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "framework/compile/further_runs.h"

namespace tidemark::compile {
namespace {

bool is_placed(const Graph& graph, ValueId id, bool step_values_are_placed) {
  const Scope scope = graph.value(graph.storage(id)).scope;
  return scope == Scope::run || (scope == Scope::step && step_values_are_placed);
}

class TraceMaker {
 public:
  TraceMaker(const Graph& graph, const OpTable& ops, const LoweredNodes& lowered, Costs& costs,
             const StepTraceOptions& options)
      : graph_(graph), ops_(ops), lowered_(lowered), costs_(costs), options_(options) {}

  memory::StepTrace run() {
    trace_.name = graph_.name();
    trace_.fixed_bytes = options_.fixed_bytes;
    for (const Value& value : graph_.values())
      trace_.values.push_back({.bytes = 0, .predecessor = {}, .name = value.name});
    for (NodeId id : graph_.order()) add_step(graph_.node(id));
    for (ValueId id : graph_.results()) trace_.values[id.index()].live_at_end = true;
    return std::move(trace_);
  }

 private:
  // Values get their bytes where they are first met: those of removed nodes never are.
  int32_t use(ValueId id) {
    memory::StepValue& value = trace_.values[id.index()];
    value.persistent = is_placed(graph_, id, options_.step_values_are_placed);
    value.alignment = options_.alignment;
    value.bytes = value.persistent ? 0 : graph_.value(id).type.bytes() + 2 * options_.guard_bytes;
    return id.value;
  }

  void add_step(const Node& node) {
    const LoweredNode& how = lowered_.at(node.id);
    memory::Step step;
    step.name = node.name;
    step.cost = costs_.nanoseconds(graph_, node.id, how);
    step.may_run_twice = how.packed_which >= 0 || ops_.find(node.op).may_run_twice();
    const int64_t workspace = how.kernel->workspace_bytes();
    step.workspace_bytes = workspace == 0 ? 0 : workspace + 2 * options_.guard_bytes;
    for (ValueId v : node.inputs)
      if (v.valid() && std::ranges::find(step.inputs, v.value) == step.inputs.end()) step.inputs.push_back(use(v));
    for (size_t o = 0; o < node.outputs.size(); ++o) add_output(step, node, how, o);
    trace_.steps.push_back(std::move(step));
  }

  void add_output(memory::Step& step, const Node& node, const LoweredNode& how, size_t o) {
    const ValueId id = node.outputs[o];
    step.outputs.push_back(use(id));
    memory::StepValue& value = trace_.values[id.index()];
    if (const ValueId before = graph_.value(id).overwrites; before.valid()) {
      value.predecessor = before.value;
      value.reuse = memory::Reuse::overwrites;
      return;
    }
    for (size_t input : how.outputs[o].may_share) {
      const ValueId from = node.inputs.at(input);
      if (!from.valid() || is_placed(graph_, from, options_.step_values_are_placed) || is_taken(step, from)) continue;
      if (graph_.value(from).type.bytes() != graph_.value(id).type.bytes()) continue;
      value.predecessor = from.value;
      value.reuse = memory::Reuse::takes_over;
      return;
    }
  }

  // One output takes an input's bytes at most.
  bool is_taken(const memory::Step& step, ValueId from) const {
    return std::ranges::any_of(
        step.outputs, [&](int32_t v) { return trace_.values[static_cast<size_t>(v)].predecessor == from.value; });
  }

  const Graph& graph_;
  const OpTable& ops_;
  const LoweredNodes& lowered_;
  Costs& costs_;
  const StepTraceOptions& options_;
  memory::StepTrace trace_;
};

// Runs a schedule over a graph, keeping for every value its latest copy.
class ScheduleApplier {
 public:
  ScheduleApplier(Graph& graph, LoweredNodes& lowered)
      : graph_(graph), lowered_(lowered), first_order_(graph.order()), ran_(first_order_.size(), false) {}

  int64_t run(const std::vector<int32_t>& steps) {
    std::vector<NodeId> order;
    for (int32_t step : steps) {
      const auto s = static_cast<size_t>(step);
      order.push_back(ran_[s] ? run_again(first_order_[s]) : run_first(first_order_[s]));
      ran_[s] = true;
    }
    graph_.set_order(std::move(order));
    return further_runs_;
  }

 private:
  ValueId latest(ValueId id) const {
    const auto found = latest_.find(id);
    return found == latest_.end() ? id : found->second;
  }

  NodeId run_first(NodeId id) {
    for (size_t i = 0; i < graph_.node(id).inputs.size(); ++i)
      if (const ValueId v = graph_.node(id).inputs[i]; v.valid() && latest(v) != v)
        graph_.replace_input(id, i, latest(v));
    return id;
  }

  NodeId run_again(NodeId id) {
    Node copy = graph_.node(id);
    copy.name = graph_.unused_node_name(copy.name + std::string(kAgainSuffix));
    for (ValueId& v : copy.inputs)
      if (v.valid()) v = latest(original(v));
    for (ValueId& v : copy.outputs) v = copy_value(v);
    const NodeId again = graph_.append_node(std::move(copy));
    lowered_[again] = lowered_.at(id);
    ++further_runs_;
    return again;
  }

  // A first run's inputs may have been redirected to a copy already.
  ValueId original(ValueId id) const {
    const auto found = original_.find(id);
    return found == original_.end() ? id : found->second;
  }

  ValueId copy_value(ValueId id) {
    Value copy = graph_.value(id);
    TM_CHECK(!copy.overwrites.valid(), "'" + copy.name + "' is updated in place and cannot be made twice");
    copy.name = graph_.unused_value_name(copy.name + std::string(kAgainSuffix));
    copy.producer = NodeId();
    const ValueId made = graph_.add_value(std::move(copy));
    latest_[id] = made;
    original_[made] = id;
    return made;
  }

  Graph& graph_;
  LoweredNodes& lowered_;
  const std::vector<NodeId> first_order_;
  std::vector<bool> ran_;
  std::map<ValueId, ValueId> latest_;    // of an original value; absent: itself
  std::map<ValueId, ValueId> original_;  // of a copy
  int64_t further_runs_ = 0;
};

}  // namespace

memory::StepTrace step_trace_of(const Graph& graph, const OpTable& ops, const LoweredNodes& lowered, Costs& costs,
                                const StepTraceOptions& options) {
  return TraceMaker(graph, ops, lowered, costs, options).run();
}

int64_t apply_schedule(Graph& graph, LoweredNodes& lowered, const std::vector<int32_t>& steps) {
  return ScheduleApplier(graph, lowered).run(steps);
}

}  // namespace tidemark::compile
