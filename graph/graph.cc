#include "graph/graph.h"

#include <algorithm>

#include "base/error.h"

namespace tidemark {
namespace {

// `wanted`, or wanted_2, wanted_3 ...: the first that is not a key of `taken`.
template <class Map>
std::string unused_name(const Map& taken, std::string_view wanted) {
  std::string name(wanted);
  for (int i = 2; taken.count(name) > 0; ++i) name = std::string(wanted) + "_" + std::to_string(i);
  return name;
}

void check_name(const std::string& graph, const std::string& name, bool is_new) {
  TM_CHECK(!name.empty() && name.front() != '/', "graph '" + graph + "': bad name '" + name + "'");
  TM_CHECK(is_new, "graph '" + graph + "': the name '" + name + "' is taken");
}

}  // namespace

const Value& Graph::value(ValueId id) const {
  TM_CHECK(id.valid() && id.index() < values_.size(), "graph '" + name_ + "' has no value " + std::to_string(id.value));
  return values_[id.index()];
}

const Node& Graph::node(NodeId id) const {
  TM_CHECK(id.valid() && id.index() < nodes_.size(), "graph '" + name_ + "' has no node " + std::to_string(id.value));
  return nodes_[id.index()];
}

Value& Graph::mutable_value(ValueId id) { return const_cast<Value&>(value(id)); }

Node& Graph::mutable_node(NodeId id) { return const_cast<Node&>(node(id)); }

ValueId Graph::storage(ValueId id) const {
  while (value(id).overwrites.valid()) id = value(id).overwrites;
  return id;
}

ValueId Graph::latest(ValueId id) const {
  ValueId newest = value(id).id;
  for (bool advanced = true; advanced;) {  // one pass as a rule: versions mostly have rising ids
    advanced = false;
    for (const Value& candidate : values_) {
      if (candidate.overwrites != newest || candidate.removed) continue;
      newest = candidate.id;
      advanced = true;
    }
  }
  return newest;
}

ValueId Graph::find_value(std::string_view name) const {
  const auto found = value_by_name_.find(std::string(name));
  return found == value_by_name_.end() ? ValueId() : found->second;
}

ValueId Graph::add_value(Value value) {
  value.id = ValueId(values_.size());
  check_name(name_, value.name, value_by_name_.count(value.name) == 0);
  TM_CHECK(!value.overwrites.valid() || value.overwrites.index() < values_.size(),
           "'" + value.name + "' overwrites a value that does not exist");
  value_by_name_.emplace(value.name, value.id);
  values_.push_back(std::move(value));
  return values_.back().id;
}

NodeId Graph::append_node(Node node) {
  node.id = NodeId(nodes_.size());
  check_name(name_, node.name, node_by_name_.count(node.name) == 0);
  for (ValueId output : node.outputs) {
    Value& value = mutable_value(output);
    TM_CHECK(!value.producer.valid(), "'" + value.name + "' has a producer already");
    value.producer = node.id;
    value.removed = false;
  }
  node_by_name_.emplace(node.name, node.id);
  order_.push_back(node.id);
  nodes_.push_back(std::move(node));
  return nodes_.back().id;
}

void Graph::set_order(std::vector<NodeId> order) {
  std::vector<NodeId> before = order_;
  std::vector<NodeId> after = order;
  std::sort(before.begin(), before.end());
  std::sort(after.begin(), after.end());
  TM_CHECK(before == after, "graph '" + name_ + "': the new order has other nodes than the old one");
  order_ = std::move(order);
}

void Graph::remove_node(NodeId id) {
  const Node& removed = node(id);
  const auto position = std::find(order_.begin(), order_.end(), id);
  TM_CHECK(position != order_.end(), "node '" + removed.name + "' is not in the order");
  order_.erase(position);
  node_by_name_.erase(removed.name);
  for (ValueId output : removed.outputs) {
    mutable_value(output).producer = NodeId();
    mutable_value(output).removed = true;
  }
}

void Graph::replace_input(NodeId id, size_t index, ValueId value) { mutable_node(id).inputs.at(index) = value; }

void Graph::add_result(ValueId id) { results_.push_back(value(id).id); }

void Graph::replace_result(ValueId from, ValueId to) {
  std::replace(results_.begin(), results_.end(), from, value(to).id);
}

void Graph::replace_value(ValueId from, ValueId to) {
  TM_CHECK(from != to, "'" + value(from).name + "' cannot replace itself");
  for (NodeId id : order_) {
    auto& inputs = mutable_node(id).inputs;
    std::replace(inputs.begin(), inputs.end(), from, to);
  }
  for (Value& candidate : values_) {
    if (candidate.overwrites == from) candidate.overwrites = to;
  }
  replace_result(from, to);
  std::string name = value(from).name;
  rename_value(from, unused_value_name(name + "/replaced"));
  rename_value(to, std::move(name));
}

void Graph::rename_value(ValueId id, std::string name) {
  check_name(name_, name, value_by_name_.count(name) == 0);
  Value& value = mutable_value(id);
  value_by_name_.erase(value.name);
  value_by_name_.emplace(name, id);
  value.name = std::move(name);
}

std::string Graph::unused_value_name(std::string_view wanted) const { return unused_name(value_by_name_, wanted); }

std::string Graph::unused_node_name(std::string_view wanted) const { return unused_name(node_by_name_, wanted); }

}  // namespace tidemark
