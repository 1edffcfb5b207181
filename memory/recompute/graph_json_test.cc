#include "memory/recompute/graph_json.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tidemark::memory {
namespace {

std::string message_of(const std::string& text) {
  try {
    parse_graph_json(text, "g.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::data);
    return error.what();
  }
  return "no error";
}

std::string with_links(const std::string& links) {
  return R"({"nodes": [{"id": 0, "name": "a", "cost_cpu": 3, "cost_ram": 10},
                       {"id": 1, "name": "b", "cost_cpu": 4, "cost_ram": 20}], "links": [)" +
         links + "]}";
}

TEST(GraphJson, ReadsNodesAndLinks) {
  const StepTrace trace = parse_graph_json(with_links(R"({"source": 0, "target": 1})"), "g.json");
  ASSERT_EQ(trace.steps.size(), 2u);
  EXPECT_EQ(trace.name, "g.json");
  EXPECT_EQ(trace.steps[0].name, "a");
  EXPECT_EQ(trace.steps[0].cost, 3);
  EXPECT_EQ(trace.steps[1].inputs, std::vector<int32_t>({0}));
  EXPECT_EQ(trace.steps[1].outputs, std::vector<int32_t>({1}));
  EXPECT_EQ(trace.values[1].bytes, 20);
  EXPECT_EQ(plain_peak(trace).bytes, 30);
}

TEST(GraphJson, ReadsTheOtherDialectInItsOrder) {
  const StepTrace trace = parse_graph_json(
      R"({"graph": {"order": ["z", "x", "y"]},
          "nodes": [{"name": "x", "out_cost": 1, "duration": 5}, {"name": "y", "out_cost": 2, "duration": 6.0},
                    {"name": "z", "out_cost": 3, "duration": 7}],
          "links": [{"0": "z", "1": "x"}, {"0": "x", "1": "y"}, {"0": "x", "1": "y"}]})",
      "g.json");
  ASSERT_EQ(trace.steps.size(), 3u);
  EXPECT_EQ(trace.steps[0].name, "z");
  EXPECT_EQ(trace.steps[2].cost, 6);
  EXPECT_EQ(trace.steps[2].inputs, std::vector<int32_t>({1}));  // the repeated link counts once
}

TEST(GraphJson, SortsWhereTheNodesOrderIsNotTopological) {
  const StepTrace trace = parse_graph_json(with_links(R"({"source": 1, "target": 0})"), "g.json");
  EXPECT_EQ(trace.steps[0].name, "b");
  EXPECT_EQ(trace.steps[1].inputs, std::vector<int32_t>({0}));
}

TEST(GraphJson, ErrorsNameTheFileAndTheThing) {
  EXPECT_NE(message_of("{").find("g.json: not valid JSON: "), std::string::npos);
  EXPECT_EQ(message_of("[]"), "g.json: has no list 'nodes'; expected networkx node-link JSON");
  EXPECT_EQ(message_of(R"({"nodes": [{"cost_cpu": 1}], "links": []})"), "g.json: node number 0 has no 'id' or 'name'");
  EXPECT_EQ(message_of(R"({"nodes": [{"id": 7, "cost_cpu": 1}], "links": []})"),
            "g.json: node 7 has no 'cost_ram' or 'out_cost'");
  EXPECT_EQ(message_of(R"({"nodes": [{"id": 7, "cost_cpu": -1, "cost_ram": 1}], "links": []})"),
            "g.json: node 7: 'cost_cpu' is -1, not a whole number from 0 to 2^52");
  EXPECT_EQ(message_of(R"({"nodes": [{"id": 7, "cost_cpu": 1, "cost_ram": 1.5}], "links": []})"),
            "g.json: node 7: 'cost_ram' is 1.5, not a whole number from 0 to 2^52");
  EXPECT_EQ(message_of(R"({"nodes": [{"id": 7, "cost_cpu": 1, "cost_ram": 1}, {"id": 7, "cost_cpu": 1, "cost_ram": 1}],
                           "links": []})"),
            "g.json: node 7 is there twice");
  EXPECT_EQ(message_of(with_links(R"({"source": 0, "target": 9})")),
            "g.json: link number 0: 'target' is 9, which is no node");
  EXPECT_EQ(message_of(with_links(R"({"source": 0})")), "g.json: link number 0 has no 'target' or '1'");
  EXPECT_EQ(message_of(with_links(R"({"source": 0, "target": 1}, {"source": 1, "target": 0})")),
            "g.json: the links have a cycle, at or before node 'a'");
}

TEST(GraphJson, ReportsAFileThatIsNotThere) {
  try {
    read_graph_json("/nonexistent/graph.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
  }
}

}  // namespace
}  // namespace tidemark::memory
