#include "framework/compile/split_nodes.h"

#include <gtest/gtest.h>

#include "graph/builder.h"
#include "graph/verifier.h"
#include "ops/all_ops.h"

namespace tidemark::compile {
namespace {

std::vector<std::string> order_of(const Graph& graph) {
  std::vector<std::string> names;
  for (NodeId id : graph.order()) names.push_back(graph.node(id).op + " " + graph.node(id).name);
  return names;
}

TEST(SplitNodes, PartsTakeTheNodesPlaceAndItsValuesKeepTheirNames) {
  const ops::OpSet ops = ops::all_ops();
  Graph graph("net");
  Builder b(graph, ops.table());
  const ValueId x = b.external("x", {DType::f32, {4, 6}}, Category::input, Scope::micro_batch);
  const ValueId scale = b.parameter("scale", {DType::f32, {6}}), shift = b.parameter("shift", {DType::f32, {6}});
  const auto norm = b.node("batch_norm", "norm", {x, scale, shift}, {{"group", int64_t{2}}, {"eps", 1e-5}});
  const ValueId w = b.parameter("w", {DType::f32, {5, 6}});
  const auto up = b.node("matmul", "up", {norm[0], w}, {{"activation", std::string("gelu")}});
  const auto plain = b.node("matmul", "plain", {norm[0], w});
  b.result(up[0]);
  b.result(up[1]);
  b.result(plain[0]);
  split_nodes(graph, ops);
  verify(graph, ops.table());
  EXPECT_EQ(order_of(graph), (std::vector<std::string>{"batch_norm_statistics norm/statistics", "batch_norm_apply norm",
                                                       "matmul up", "gelu up/activation", "matmul plain"}));
  EXPECT_EQ(graph.value(norm[1]).name, "norm/mean");
  EXPECT_EQ(graph.node(graph.value(norm[1]).producer).name, "norm/statistics");
  EXPECT_EQ(graph.node(graph.value(norm[0]).producer).op, "batch_norm_apply");
  EXPECT_EQ(graph.node(graph.value(up[0]).producer).inputs, std::vector<ValueId>{up[1]});
  EXPECT_EQ(graph.node(graph.value(up[1]).producer).attributes.text("activation"), "pre");
}

}  // namespace
}  // namespace tidemark::compile
