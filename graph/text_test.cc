#include "graph/text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "graph/builder.h"
#include "graph/fake_ops.h"
#include "graph/verifier.h"

namespace tidemark {
namespace {

const OpTable& ops() {
  static const OpTable table = testing::fake_ops();
  return table;
}

std::string error_of(std::string_view text) {
  try {
    parse_graph(text, ops());
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::data);
    return error.what();
  }
  return "no error";
}

// Everything of a value but ids.
std::string describe(const Graph& graph, const Value& value) {
  const auto name = [&](ValueId id) { return id.valid() ? graph.value(id).name : "-"; };
  return value.name + " " + to_string(value.type) + " " + std::string(to_string(value.category)) + " " +
         std::string(to_string(value.scope)) + " v" + std::to_string(value.version) + " over " +
         name(value.overwrites) + " by " + (value.producer.valid() ? graph.node(value.producer).name : "-");
}

std::vector<std::string> describe(const Graph& graph) {
  std::vector<std::string> lines{graph.name()};
  for (const Value& value : graph.values()) {
    if (!value.removed) lines.push_back(describe(graph, value));
  }
  std::sort(lines.begin() + 1, lines.end());
  for (NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    std::string line = node.name + " = " + node.op;
    for (ValueId input : node.inputs) line += " " + (input.valid() ? graph.value(input).name : "-");
    lines.push_back(line);
  }
  for (ValueId id : graph.results()) lines.push_back("result " + graph.value(id).name);
  return lines;
}

void expect_round_trip(const Graph& graph) {
  const std::string text = print(graph);
  const Graph parsed = parse_graph(text, ops());
  EXPECT_EQ(print(parsed), text);
  EXPECT_EQ(describe(parsed), describe(graph));
}

constexpr std::string_view kSmall = R"(graph "small" {
  external %0 : f32[2,3] input micro_batch "images"
  external %1 : f32[2,3] weights run "layer0/w"
  external %2 : f32[2,3] gradients step "w_sum"
  %3 = product(%0, %1) "layer0/product"
  %4, %5 "/mask" = gate(%3) "gate"
  %6 gradients = product_grad(%4, %0, _) {like=[2,3]} "dw"
  %7 = add_into(%2, %6) "sum"
  %8 "layer0/w/updated" = update(%1, %7) "update"
  result %4
  result %8
}
)";

TEST(Text, SmallGraphIsPrintedAsItWasParsed) {
  const Graph graph = parse_graph(kSmall, ops());
  EXPECT_NO_THROW(verify(graph, ops()));
  EXPECT_EQ(print(graph), kSmall);
  expect_round_trip(graph);
  const Value& updated = graph.value(graph.find_value("layer0/w/updated"));
  EXPECT_EQ(updated.overwrites, graph.find_value("layer0/w"));
  EXPECT_EQ(updated.scope, Scope::run);
  EXPECT_EQ(updated.version, 1);
  EXPECT_EQ(graph.value(graph.find_value("sum")).scope, Scope::step);
  EXPECT_EQ(graph.value(graph.find_value("gate/mask")).type, (ValueType{DType::u8, {2, 3}}));
  EXPECT_FALSE(graph.node(graph.value(graph.find_value("dw")).producer).inputs[2].valid());
}

TEST(Text, ShortFormForTests) {
  const Graph graph = parse_graph(R"(
      graph "g" {  # comments and blank lines do not count
        external %x : f32[4] input micro_batch
        external %w : f32[4] weights run "weight"

        %y = product(%x, %w)
        %z = product(%y, %w)
        %loss = total(%z) "loss"
        result %loss
      })",
                                  ops());
  EXPECT_TRUE(graph.find_value("x").valid());
  EXPECT_TRUE(graph.find_value("weight").valid());
  EXPECT_TRUE(graph.find_value("product").valid());
  EXPECT_TRUE(graph.find_value("product_2").valid());
  expect_round_trip(graph);
}

TEST(Text, EveryKindOfAttributeSurvives) {
  Graph graph("attributes");
  Builder builder(graph, ops());
  const ValueId x = builder.parameter("x", {DType::f32, {1}});
  Attributes all{
      {"yes", true}, {"no", false}, {"text", std::string("a \"b\"\\\n\x01 \xc3\xa9")}, {"none", std::string()}};
  const int64_t integers[] = {0, -7, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  const double reals[] = {0.0,
                          -0.0,
                          3.0,
                          0.1,
                          -1e-300,
                          5e-324,
                          std::numeric_limits<double>::max(),
                          1e22,
                          std::numeric_limits<double>::infinity(),
                          -std::numeric_limits<double>::infinity()};
  for (int64_t value : integers) all.set("int" + std::to_string(all.items().size()), value);
  for (double value : reals) all.set("real" + std::to_string(all.items().size()), value);
  all.set("list", std::vector<int64_t>{1, -2, 3});
  all.set("empty list", std::vector<int64_t>{});
  all.set("Name, with = signs", int64_t{1});
  builder.op("opaque", "n", {x}, all);
  builder.op("opaque", "m", {x}, {{"a", true}, {"b", 2.0}, {"c", std::string("x\"")}, {"d 1", int64_t{-1}}});
  const std::string text = print(graph);
  EXPECT_NE(text.find(R"({a=true, b=2.0, c="x\"", "d 1"=-1} "m")"), std::string::npos) << text;
  const Graph parsed = parse_graph(text, ops());
  EXPECT_EQ(parsed.node(parsed.order()[0]).attributes, all);
  EXPECT_TRUE(std::signbit(parsed.node(parsed.order()[0]).attributes.real("real9")));
  expect_round_trip(graph);
}

TEST(Text, NotANumberSurvives) {
  Graph graph("nan");
  Builder builder(graph, ops());
  const ValueId x = builder.parameter("x", {DType::f32, {1}});
  builder.op("opaque", "n", {x}, {{"value", std::nan("")}});
  const Graph parsed = parse_graph(print(graph), ops());
  EXPECT_TRUE(std::isnan(parsed.node(parsed.order()[0]).attributes.real("value")));
}

TEST(Text, RenamedAndRemovedValues) {
  Graph graph = parse_graph(kSmall, ops());
  const ValueId updated = graph.find_value("layer0/w/updated");
  graph.remove_node(graph.value(updated).producer);
  const ValueId y = graph.find_value("layer0/product");
  const ValueId again = Builder(graph, ops()).op("opaque", "again", {y});
  std::vector<NodeId> order = graph.order();
  std::rotate(order.begin() + 1, order.end() - 1, order.end());
  graph.set_order(order);
  graph.replace_value(y, again);  // names of node and value now differ: "again" makes "layer0/product"
  graph.replace_input(graph.value(again).producer, 0, y);
  graph.replace_result(updated, again);
  graph.mutable_value(again).scope = Scope::step;
  const std::string text = print(graph);
  EXPECT_NE(text.find("  %3 \"/replaced\" = product(%0, %1) \"layer0/product\"\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  %4 \"layer0/product\" step = opaque(%3) \"again\"\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("update"), std::string::npos) << text;
  expect_round_trip(graph);
}

TEST(Text, SwappedNames) {
  Graph graph = parse_graph(R"(graph "g" { external %x : f32[4] input step %y, %m = gate(%x) "n" })", ops());
  const ValueId main = graph.find_value("n");
  const ValueId mask = graph.find_value("n/mask");
  graph.rename_value(main, "other");
  graph.rename_value(mask, "n");
  graph.rename_value(main, "n/mask");
  expect_round_trip(graph);
}

TEST(Text, ErrorsNameThePlace) {
  const std::string head = "graph \"g\" {\n  external %x : f32[4] input step\n";
  EXPECT_EQ(error_of(""), "line 1, column 1: expected 'graph', found the end of the text");
  EXPECT_EQ(error_of("graph g {}"), "line 1, column 7: expected the name of the graph in quotes, found 'g'");
  EXPECT_EQ(error_of("graph \"g\" {"),
            "line 1, column 12: expected 'external', 'result', a node or '}', found the end of the text");
  EXPECT_EQ(error_of("graph \"g\" {} x"), "line 1, column 14: expected nothing after the graph, found 'x'");
  EXPECT_EQ(error_of(head + "  %y = opaque(%z)\n}"), "line 3, column 15: '%z' is not defined above");
  EXPECT_EQ(error_of(head + "  %x = opaque(%x)\n}"), "line 3, column 3: '%x' is defined twice");
  EXPECT_EQ(error_of(head + "  %y = opaqe(%x)\n}"), "line 3, column 8: unknown op 'opaqe'; the nearest is 'opaque'");
  EXPECT_EQ(error_of(head + "  %y = add(%x)\n}"), "line 3, column 8: node 'add' (add): input 1 is missing");
  EXPECT_EQ(error_of(head + "  %y = gate(%x)\n}"), "line 3, column 8: op 'gate' has 2 outputs, not 1");
  EXPECT_EQ(error_of(head + "  %y = opaque(%x) \"n\"\n  %z = opaque(%x) \"n\"\n}"),
            "line 4, column 19: a node named \"n\" exists already");
  EXPECT_EQ(error_of(head + "  %y \"x\" = opaque(%x)\n}"), "line 3, column 6: a value named \"x\" exists already");
  EXPECT_EQ(error_of(head + "  %y = opaque(%x) \"/n\"\n}"),
            "line 3, column 19: a name is not empty nor begins with '/'");
  EXPECT_EQ(error_of(head + "  %y \"\" = opaque(%x)\n}"), "line 3, column 6: a name is not empty nor begins with '/'");
  EXPECT_EQ(error_of(head + "  %y later = opaque(%x)\n}"),
            "line 3, column 6: expected a category, a scope or '=', found 'later'");
  EXPECT_EQ(error_of(head + "  external %y : f32[4] input step \"x\"\n}"),
            "line 3, column 35: graph 'g' has two values named 'x'");
  EXPECT_EQ(error_of(head + "  result %y\n}"), "line 3, column 10: '%y' is not defined above");
}

TEST(Text, ErrorsInTypesAndTokens) {
  const auto type_error = [](const std::string& type) { return error_of("graph \"g\" { external %x : " + type + "}"); };
  EXPECT_EQ(type_error("f64[4] input step"), "line 1, column 27: expected a dtype (f32, bf16, i32 or u8), found 'f64'");
  EXPECT_EQ(type_error("f32[4,0] input step"), "line 1, column 27: the type f32[4,0] is empty");
  EXPECT_EQ(type_error("f32[x] input step"), "line 1, column 31: expected an integer, found 'x'");
  EXPECT_EQ(type_error("f32[1.5] input step"), "line 1, column 31: '1.5' is no integer of 64 bits");
  EXPECT_EQ(type_error("f32[99999999999999999999] input step"),
            "line 1, column 31: '99999999999999999999' is no integer of 64 bits");
  EXPECT_EQ(type_error("f32[4000000000,4000000000] input step"),
            "line 1, column 27: shape [4000000000,4000000000] has more elements than 63 bits can count");
  EXPECT_EQ(type_error("f32[4] inptu step"), "line 1, column 34: expected a category, found 'inptu'");
  EXPECT_EQ(type_error("f32[4] input epoch"),
            "line 1, column 40: expected a scope (run, step or micro_batch), found 'epoch'");
  EXPECT_EQ(error_of("graph \"g\n\""), "line 1, column 7: the string does not end on its line");
  EXPECT_EQ(error_of("graph \"a\\q\""), "line 1, column 10: an escape is \\\", \\\\ or \\xHH");
  EXPECT_EQ(error_of("graph \"g\" { % = }"), "line 1, column 13: a value needs a name after '%'");
  EXPECT_EQ(error_of("graph \"g\" ;"), "line 1, column 11: unexpected character \";\"");
}

TEST(Text, ErrorsInAttributes) {
  const auto attribute_error = [](const std::string& attributes) {
    return error_of("graph \"g\" {external %x : f32[4] input step\n%y = opaque(%x) {" + attributes + "}}");
  };
  EXPECT_EQ(attribute_error("a=1"), "no error");
  EXPECT_EQ(attribute_error("a=1, a=2"), "line 2, column 23: attribute 'a' is given twice");
  EXPECT_EQ(attribute_error("a"), "line 2, column 19: expected '=', found '}'");
  EXPECT_EQ(attribute_error("a=}"), "line 2, column 20: expected the value of an attribute, found '}'");
  EXPECT_EQ(attribute_error("a=gelu"),
            "line 2, column 20: 'gelu' is no attribute: true, false, a number, a text in quotes or a list");
  EXPECT_EQ(attribute_error("a=1e999"),
            "line 2, column 20: '1e999' is no attribute: true, false, a number, a text in quotes or a list");
  EXPECT_EQ(attribute_error("a=[1,]"), "line 2, column 23: expected an integer, found ']'");
  EXPECT_EQ(attribute_error(""), "line 2, column 18: expected the name of an attribute, found '}'");
}

}  // namespace
}  // namespace tidemark
