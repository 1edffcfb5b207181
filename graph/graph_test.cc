#include "graph/graph.h"

#include <gtest/gtest.h>

namespace tidemark {
namespace {

ValueId add(Graph& graph, std::string name, ValueId overwrites = {}) {
  Value value;
  value.name = std::move(name);
  value.type = {DType::f32, {4}};
  value.overwrites = overwrites;
  return graph.add_value(std::move(value));
}

NodeId append(Graph& graph, std::string name, std::vector<ValueId> inputs, std::vector<ValueId> outputs) {
  return graph.append_node({.name = std::move(name), .op = "op", .inputs = inputs, .outputs = outputs});
}

TEST(Graph, NodesProduceTheirOutputsInOrder) {
  Graph graph("net");
  const ValueId x = add(graph, "x");
  const ValueId y = add(graph, "y");
  const NodeId node = append(graph, "n", {x}, {y});
  EXPECT_EQ(graph.value(y).producer, node);
  EXPECT_TRUE(graph.value(x).external());
  EXPECT_FALSE(graph.value(y).external());
  EXPECT_EQ(graph.order(), std::vector<NodeId>{node});
  EXPECT_EQ(graph.find_value("y"), y);
  EXPECT_FALSE(graph.find_value("z").valid());
}

TEST(Graph, VersionsShareAStorage) {
  Graph graph;
  const ValueId w0 = add(graph, "w0");
  const ValueId other = add(graph, "other");
  const ValueId w1 = add(graph, "w1", w0);
  const ValueId w2 = add(graph, "w2", w1);
  EXPECT_EQ(graph.storage(w2), w0);
  EXPECT_EQ(graph.latest(w0), w2);
  EXPECT_EQ(graph.latest(w1), w2);
  EXPECT_EQ(graph.latest(other), other);
}

TEST(Graph, LatestFindsVersionsWhateverTheirIds) {
  Graph graph;
  const ValueId w0 = add(graph, "w0");
  const ValueId w2 = add(graph, "w2");
  const ValueId w1 = add(graph, "w1", w0);
  graph.mutable_value(w2).overwrites = w1;
  EXPECT_EQ(graph.latest(w0), w2);
}

TEST(Graph, RemovedNodesLeaveNoProducerAndFreeTheirName) {
  Graph graph;
  const ValueId x = add(graph, "x");
  const ValueId x1 = add(graph, "x1", x);
  const NodeId first = append(graph, "n", {x}, {x1});
  EXPECT_EQ(graph.latest(x), x1);
  graph.remove_node(first);
  EXPECT_TRUE(graph.order().empty());
  EXPECT_TRUE(graph.value(x1).removed);
  EXPECT_FALSE(graph.value(x1).external());
  EXPECT_EQ(graph.latest(x), x);
  append(graph, "n", {x}, {x1});
  EXPECT_FALSE(graph.value(x1).removed);
}

TEST(Graph, ReplaceValueMovesNameReadersResultsAndOverwriters) {
  Graph graph;
  const ValueId from = add(graph, "loss");
  const ValueId to = add(graph, "fused");
  const ValueId next = add(graph, "next", from);
  const NodeId reader = append(graph, "reader", {from, to, from}, {next});
  graph.add_result(from);
  graph.replace_value(from, to);
  EXPECT_EQ(graph.node(reader).inputs, (std::vector<ValueId>{to, to, to}));
  EXPECT_EQ(graph.value(next).overwrites, to);
  EXPECT_EQ(graph.results(), std::vector<ValueId>{to});
  EXPECT_EQ(graph.find_value("loss"), to);
  EXPECT_EQ(graph.value(from).name, "loss/replaced");
  EXPECT_EQ(graph.find_value("loss/replaced"), from);
  EXPECT_FALSE(graph.find_value("fused").valid());
}

TEST(Graph, ReplaceInputAndResult) {
  Graph graph;
  const ValueId a = add(graph, "a");
  const ValueId b = add(graph, "b");
  const NodeId node = append(graph, "n", {a, a}, {});
  graph.add_result(a);
  graph.replace_input(node, 1, b);
  EXPECT_EQ(graph.node(node).inputs, (std::vector<ValueId>{a, b}));
  graph.replace_result(a, b);
  EXPECT_EQ(graph.results(), std::vector<ValueId>{b});
}

TEST(Graph, UnusedNamesCount) {
  Graph graph;
  const ValueId x = add(graph, "x");
  EXPECT_EQ(graph.unused_value_name("x"), "x_2");
  add(graph, "x_2");
  EXPECT_EQ(graph.unused_value_name("x"), "x_3");
  graph.rename_value(x, "y");
  EXPECT_EQ(graph.unused_value_name("x"), "x");
  append(graph, "n", {}, {});
  EXPECT_EQ(graph.unused_node_name("n"), "n_2");
}

TEST(GraphDeathTest, OurOwnBugsAreCaught) {
  Graph graph("net");
  const ValueId x = add(graph, "x");
  const NodeId node = append(graph, "n", {}, {x});
  EXPECT_DEATH(add(graph, "x"), "the name 'x' is taken");
  EXPECT_DEATH(add(graph, "/x"), "bad name");
  EXPECT_DEATH(add(graph, ""), "bad name");
  EXPECT_DEATH(append(graph, "n", {}, {}), "the name 'n' is taken");
  EXPECT_DEATH(append(graph, "m", {}, {x}), "'x' has a producer already");
  EXPECT_DEATH(graph.value(ValueId(7)), "graph 'net' has no value 7");
  EXPECT_DEATH(graph.set_order({node, node}), "other nodes");
  EXPECT_DEATH(graph.set_order({}), "other nodes");
}

}  // namespace
}  // namespace tidemark
