#include "graph/builder.h"

#include "base/error.h"

namespace tidemark {
namespace {

std::vector<OutputSpec> checked_outputs(const Graph& graph, const Op& op, const Node& node) {
  const auto types = input_types(graph, node);
  try {
    return op.outputs({node.attributes, types});
  } catch (const Error& error) {
    throw Error(error.code(), "node '" + node.name + "' (" + node.op + "): " + error.what());
  }
}

// An output in place is the next version of its input: same lifetime, same purpose.
Value make_output(const Graph& graph, const Node& node, const OutputSpec& spec) {
  Value value;
  value.name = graph.unused_value_name(spec.suffix.empty() ? node.name : node.name + "/" + spec.suffix);
  value.type = spec.type;
  value.category = spec.category;
  if (spec.overwrites && *spec.overwrites < node.inputs.size() && node.inputs[*spec.overwrites].valid()) {
    const Value& before = graph.value(node.inputs[*spec.overwrites]);
    value.overwrites = before.id;
    value.version = before.version + 1;
    value.scope = before.scope;
    value.category = before.category;
  }
  return value;
}

}  // namespace

Builder::Prefix::Prefix(Builder& builder, std::string_view name)
    : builder_(builder), old_length_(builder.prefix_.size()) {
  builder_.prefix_.append(name).push_back('/');
}

Builder::Prefix::~Prefix() { builder_.prefix_.resize(old_length_); }

ValueId Builder::parameter(std::string_view name, ValueType type) {
  return external(name, std::move(type), Category::weights, Scope::run);
}

ValueId Builder::external(std::string_view name, ValueType type, Category category, Scope scope) {
  Value value;
  value.name = prefix_ + std::string(name);
  value.type = std::move(type);
  value.category = category;
  value.scope = scope;
  if (graph_.find_value(value.name).valid()) {
    throw Error(ErrorCode::config, "graph '" + graph_.name() + "' has two values named '" + value.name + "'");
  }
  return graph_.add_value(std::move(value));
}

std::vector<ValueId> Builder::node(std::string_view op, std::string_view name, std::vector<ValueId> inputs,
                                   Attributes attributes) {
  Node node;
  node.name = graph_.unused_node_name(prefix_ + std::string(name));
  node.op = op;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  for (const OutputSpec& spec : checked_outputs(graph_, ops_.find(op), node)) {
    node.outputs.push_back(graph_.add_value(make_output(graph_, node, spec)));
  }
  std::vector<ValueId> outputs = node.outputs;
  graph_.append_node(std::move(node));
  return outputs;
}

ValueId Builder::op(std::string_view op, std::string_view name, std::vector<ValueId> inputs, Attributes attributes) {
  return node(op, name, std::move(inputs), std::move(attributes)).at(0);
}

}  // namespace tidemark
