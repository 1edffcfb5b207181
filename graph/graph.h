// One body of a program: nodes in execution order over values. A body is, say, "one micro-batch forward and backward".
//
// Values are in SSA form. An update in place is a new value whose `overwrites` names the value whose bytes it takes: a
// parameter before and after its update are two versions of one storage. verify() (graph/verifier.h) rejects a read of
// a version that has been overwritten.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "base/category.h"
#include "base/id.h"
#include "graph/attributes.h"
#include "graph/types.h"

namespace tidemark {

using ValueId = Id<struct ValueTag>;
using NodeId = Id<struct NodeTag>;

struct Value {
  ValueId id;
  std::string name;  // unique in the graph: "layer7/attention/out"; parameters: "layer7/mlp/up/weight"
  ValueType type;
  Category category = Category::activations;
  Scope scope = Scope::micro_batch;
  int version = 0;       // 0, or one more than what it overwrites
  ValueId overwrites;    // invalid unless this value takes the bytes of another
  NodeId producer;       // invalid for external values (parameters, state, inputs), which hold their bytes at the start
  bool removed = false;  // left behind by a removed node: has neither bytes nor readers

  bool external() const { return !producer.valid() && !removed; }
};

struct Node {
  NodeId id;
  std::string name;  // unique: "layer7/attention"
  std::string op;
  Attributes attributes;
  std::vector<ValueId> inputs;  // positional; an invalid id stands for an absent optional input
  std::vector<ValueId> outputs;
};

class Graph {
 public:
  explicit Graph(std::string name = "graph") : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  const Value& value(ValueId id) const;
  const Node& node(NodeId id) const;
  const std::vector<Value>& values() const { return values_; }      // by id
  const std::vector<NodeId>& order() const { return order_; }       // execution order; removed nodes are not in it
  const std::vector<ValueId>& results() const { return results_; }  // must hold their bytes at the end (losses, counts)

  // First value of the chain of versions that share bytes with `id`.
  ValueId storage(ValueId id) const;
  // The newest version of that storage.
  ValueId latest(ValueId id) const;
  // Invalid if there is none of that name.
  ValueId find_value(std::string_view name) const;

  // Mutation: low level, used by Builder, autodiff, lowering and the parser. Names must be new, not empty and not begin
  // with a slash (TM_CHECK).
  ValueId add_value(Value value);             // id is assigned
  NodeId append_node(Node node);              // id is assigned; sets producer of its outputs; appended to order
  void set_order(std::vector<NodeId> order);  // a permutation of order() (TM_CHECK)
  void remove_node(NodeId id);                // its outputs lose their producer and become `removed`
  void replace_input(NodeId node, size_t index, ValueId value);
  void add_result(ValueId id);
  void replace_result(ValueId from, ValueId to);
  // Readers of `from`, those that overwrite it, results, and the name move to `to`. The old value is renamed
  // NAME/replaced; the node that produces it stays until it is removed.
  void replace_value(ValueId from, ValueId to);
  void rename_value(ValueId id, std::string name);
  // Everything but ids and names may be changed through these.
  Node& mutable_node(NodeId id);
  Value& mutable_value(ValueId id);
  // A name that is still free: `wanted`, or wanted_2, wanted_3 ...
  std::string unused_value_name(std::string_view wanted) const;
  std::string unused_node_name(std::string_view wanted) const;

 private:
  std::string name_;
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<NodeId> order_;
  std::vector<ValueId> results_;
  std::unordered_map<std::string, ValueId> value_by_name_;
  std::unordered_map<std::string, NodeId> node_by_name_;  // nodes in order_ only
};

}  // namespace tidemark
