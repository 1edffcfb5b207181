#include "framework/compile/split_nodes.h"

#include "base/error.h"
#include "graph/sample_groups.h"

namespace tidemark::compile {
namespace {

// The values of the whole node, by which its parts find their operands.
class NodeSplitter {
 public:
  NodeSplitter(Graph& graph, NodeId id) : graph_(graph), whole_(graph.node(id)) {}

  // The parts, in order.
  std::vector<NodeId> replace_by(const std::vector<ops::NodePart>& parts) {
    graph_.remove_node(whole_.id);
    std::vector<NodeId> ids;
    for (const ops::NodePart& part : parts) ids.push_back(append(part));
    for (ValueId v : whole_.outputs)
      TM_CHECK(!graph_.value(v).removed, "no part of '" + whole_.name + "' makes '" + graph_.value(v).name + "'");
    return ids;
  }

 private:
  NodeId append(const ops::NodePart& part) {
    Node node;
    node.name = part.suffix.empty() ? whole_.name : graph_.unused_node_name(whole_.name + "/" + part.suffix);
    node.op = part.op;
    node.attributes = part.attributes;
    if (whole_.attributes.has(kRowsOfGroup))  // the kernels of the parts, too, are chosen for a group
      node.attributes.set(std::string(kRowsOfGroup), whole_.attributes.integer(kRowsOfGroup));
    for (const ops::PartOperand& from : part.inputs) node.inputs.push_back(operand(from));
    for (size_t o : part.outputs) node.outputs.push_back(whole_.outputs.at(o));
    return graph_.append_node(std::move(node));
  }

  ValueId operand(const ops::PartOperand& from) const {
    if (from.of_outputs) return whole_.outputs.at(from.index);
    return from.index < whole_.inputs.size() ? whole_.inputs[from.index] : ValueId();
  }

  Graph& graph_;
  const Node whole_;
};

}  // namespace

void split_nodes(Graph& graph, const ops::OpSet& ops) {
  std::vector<NodeId> order;
  const std::vector<NodeId> before = graph.order();
  for (NodeId id : before) {
    const auto types = input_types(graph, graph.node(id));
    const std::vector<ops::NodePart> parts = ops.split(graph.node(id).op, {graph.node(id).attributes, types});
    if (parts.empty()) {
      order.push_back(id);
      continue;
    }
    for (NodeId part : NodeSplitter(graph, id).replace_by(parts)) order.push_back(part);
  }
  graph.set_order(std::move(order));
}

}  // namespace tidemark::compile
