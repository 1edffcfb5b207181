#include "framework/compile/lowering.h"

#include <algorithm>

#include "base/error.h"

namespace tidemark::compile {
namespace {

// The packed form of input `packed.input` of `reader`, made right before it. Appended to the graph; the caller orders
// it.
NodeId add_pack_node(Graph& graph, NodeId reader, const ops::PackedInput& packed) {
  const std::string name = graph.unused_node_name(graph.node(reader).name + "/pack_" + std::to_string(packed.input));
  const ValueId plain = graph.node(reader).inputs.at(packed.input);
  Value value;
  value.name = graph.unused_value_name(name);
  value.type = {DType::u8, Shape{packed.bytes}};
  value.category = Category::packed;
  value.scope = Scope::micro_batch;
  const ValueId packed_value = graph.add_value(value);
  Node node;
  node.name = name;
  node.op = "pack";
  node.attributes.set("bytes", packed.bytes);
  node.inputs = {plain};
  node.outputs = {packed_value};
  const NodeId id = graph.append_node(node);
  graph.replace_input(reader, packed.input, packed_value);
  return id;
}

std::vector<OutputSpec> pack_outputs(const ops::PackedInput& packed) {
  return {{.type = {DType::u8, Shape{packed.bytes}},
           .suffix = "",
           .category = Category::packed,
           .overwrites = {},
           .may_share = {}}};
}

}  // namespace

LoweredNodes lower(Graph& graph, const ops::OpSet& ops, ops::KernelDevice device, int threads) {
  LoweredNodes lowered;
  std::vector<NodeId> order;
  const std::vector<NodeId> before = graph.order();
  for (NodeId id : before) {
    const auto types = input_types(graph, graph.node(id));
    ops::KernelChoice choice = [&] {
      try {
        return ops.choose_kernel(graph.node(id).op, device, {{graph.node(id).attributes, types}, threads});
      } catch (const Error& error) {
        throw Error(error.code(), "node '" + graph.node(id).name + "' of '" + graph.name() + "': " + error.what());
      }
    }();
    std::shared_ptr<const ops::Kernel> kernel = std::move(choice.kernel);
    auto outputs = ops.table().find(graph.node(id).op).outputs({graph.node(id).attributes, types});
    const auto packed = kernel->packed_inputs();
    for (size_t which = 0; which < packed.size(); ++which) {
      const NodeId pack = add_pack_node(graph, id, packed[which]);
      lowered[pack] = {kernel, choice.name + ":pack", static_cast<int>(which), {}, pack_outputs(packed[which])};
      order.push_back(pack);
    }
    lowered[id] = {kernel, choice.name, -1, types, std::move(outputs)};
    order.push_back(id);
  }
  graph.set_order(std::move(order));
  return lowered;
}

}  // namespace tidemark::compile
