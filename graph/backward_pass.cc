#include "graph/backward_pass.h"

#include <algorithm>

#include "base/error.h"
#include "graph/gradient_context.h"

namespace tidemark {
namespace {

bool is_float(const ValueType& type) { return type.dtype == DType::f32 || type.dtype == DType::bf16; }

std::string quoted(const std::string& name) { return "'" + name + "'"; }

// Nodes of the order that read `value`, directly or through others.
std::set<NodeId> dependents_of(const Graph& graph, ValueId value) {
  std::set<ValueId> tainted{value};
  std::set<NodeId> dependents;
  for (bool grown = true; grown;) {  // a reader may still stand before the node that it depends on
    grown = false;
    for (NodeId id : graph.order()) {
      const Node& node = graph.node(id);
      const bool reads =
          std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) { return tainted.count(input) > 0; });
      if (!reads || !dependents.insert(id).second) continue;
      tainted.insert(node.outputs.begin(), node.outputs.end());
      grown = true;
    }
  }
  return dependents;
}

// Forward nodes that read `value` stood before its new producer; they move, with all that hangs on them, to the end.
void move_dependents_to_end(Graph& graph, ValueId value) {
  const std::set<NodeId> dependents = dependents_of(graph, value);
  if (dependents.empty()) return;
  if (dependents.count(graph.value(value).producer) > 0) {
    throw Error(ErrorCode::config, "the backward pass computes " + quoted(graph.value(value).name) +
                                       ", but needs the gradient of a value that depends on it");
  }
  std::vector<NodeId> order = graph.order();
  std::stable_partition(order.begin(), order.end(), [&](NodeId id) { return dependents.count(id) == 0; });
  graph.set_order(std::move(order));
}

}  // namespace

BackwardPass::BackwardPass(Graph& graph, const OpTable& ops, ValueId loss, const AutodiffOptions& options,
                           bool exclusive_only)
    : graph_(graph),
      ops_(ops),
      builder_(graph, ops),
      loss_(loss),
      options_(options),
      sums_(graph, exclusive_only),
      active_(graph.values().size(), false) {}

Gradients BackwardPass::run() {
  check_arguments();
  find_active();
  for (const auto& [parameter, accumulator] : options_.accumulators) {
    if (is_active(parameter)) sums_.start_with(parameter, accumulator);
  }
  const std::vector<NodeId> forward = graph_.order();
  for (auto id = forward.rbegin(); id != forward.rend(); ++id) {
    if (has_gradient(graph_.node(*id))) differentiate(*id);
  }
  return collect();
}

void BackwardPass::check_arguments() const {
  const Value& loss = graph_.value(loss_);
  if (loss.type != ValueType{DType::f32, {1}}) {
    throw Error(ErrorCode::config, "loss " + quoted(loss.name) + " is " + to_string(loss.type) + "; it must be f32[1]");
  }
  for (const auto& [parameter, accumulator] : options_.accumulators) {
    TM_CHECK(graph_.value(parameter).external(), quoted(graph_.value(parameter).name) + " is no parameter");
    const Value& wanted = graph_.value(parameter);
    const Value& given = graph_.value(accumulator);
    if (!given.external() || given.type != wanted.type) {
      throw Error(ErrorCode::config, "accumulator " + quoted(given.name) + " (" + to_string(given.type) +
                                         ") of parameter " + quoted(wanted.name) +
                                         " must be an external value of type " + to_string(wanted.type));
    }
  }
}

void BackwardPass::find_active() {
  for (const Value& value : graph_.values()) {
    if (!value.external() || value.category != Category::weights || !is_float(value.type)) continue;
    parameters_.push_back(value.id);
    active_[value.id.index()] = true;
  }
  for (NodeId id : graph_.order()) {
    const Node& node = graph_.node(id);
    if (std::none_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) { return is_active(v); })) continue;
    for (ValueId output : node.outputs) active_[output.index()] = is_float(graph_.value(output).type);
  }
}

// Only what the loss depends on ever gets one.
bool BackwardPass::has_gradient(const Node& node) const {
  return std::any_of(node.outputs.begin(), node.outputs.end(),
                     [&](ValueId v) { return is_active(v) && (v == loss_ || sums_.has(v)); });
}

void BackwardPass::differentiate(NodeId id) {
  NodeGradientContext context(*this, graph_.node(id));
  const Node& node = context.forward();
  try {
    ops_.find(node.op).gradient(context);
  } catch (const Error& error) {
    throw Error(error.code(), "loss " + quoted(graph_.value(loss_).name) + " depends on node " + quoted(node.name) +
                                  " (" + node.op + "): " + error.what());
  }
  for (ValueId output : node.outputs) sums_.release(output);
  if (std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId v) { return replaced_.count(v) > 0; })) {
    graph_.remove_node(id);
  }
}

void BackwardPass::replace(ValueId output, ValueId by) {
  TM_CHECK(graph_.value(output).type == graph_.value(by).type,
           quoted(graph_.value(by).name) + " cannot replace " + quoted(graph_.value(output).name) + " of another type");
  graph_.replace_value(output, by);
  replaced_.insert(output);
  move_dependents_to_end(graph_, by);
}

void BackwardPass::begin_contribution(ValueId parameter, NodeId node) {
  const auto further = options_.further_accumulators.find(parameter);
  if (further == options_.further_accumulators.end()) return;
  if (!sums_.contributed(parameter) || sums_.is_contributor(parameter, node)) return;
  size_t& used = further_used_[parameter];
  if (used == further->second.size()) return;
  if (used == 0) finished_[parameter] = sums_.sum(parameter);
  sums_.release(parameter);
  sums_.start_with(parameter, further->second[used++]);
}

Gradients BackwardPass::collect() {
  Gradients gradients;
  for (ValueId parameter : parameters_) {
    if (parameter == loss_ || sums_.is_one(parameter)) {
      throw Error(ErrorCode::config, "parameter " + quoted(graph_.value(parameter).name) +
                                         " is a summand of the loss itself: its gradient is 1 and has no value");
    }
    if (const auto first = finished_.find(parameter); first != finished_.end()) {
      gradients.of[parameter] = first->second;
      continue;
    }
    if (!sums_.contributed(parameter)) continue;
    const ValueId gradient = sums_.sum(parameter);
    if (!sums_.on_accumulator(parameter)) finish_fresh(parameter, gradient);
    gradients.of[parameter] = gradient;
  }
  return gradients;
}

// A rule may have passed on a forward value, or one value to two parameters: those keep the name they have.
void BackwardPass::finish_fresh(ValueId parameter, ValueId gradient) {
  if (!sums_.is_backward_value(gradient) || !named_.insert(gradient).second) return;
  graph_.rename_value(gradient, graph_.unused_value_name(graph_.value(parameter).name + "/gradient"));
  for (ValueId v = gradient; v.valid(); v = graph_.value(v).overwrites) {
    graph_.mutable_value(v).category = Category::gradients;
  }
}

}  // namespace tidemark
