#include "graph/sample_groups.h"

#include <gtest/gtest.h>

#include "graph/builder.h"

namespace tidemark {
namespace {

// An op of given types and rule: outputs like its first input, but those that are sums, which are f32[3] and overwrite
// their accumulators.
class RuledOp : public Op {
 public:
  RuledOp(std::string name, size_t outputs, std::optional<SampleRule> rule)
      : name_(std::move(name)), outputs_(outputs), rule_(std::move(rule)) {}

  std::string_view name() const override { return name_; }
  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    std::vector<OutputSpec> specs(outputs_, {.type = call.input(0)});
    for (size_t o = 0; o < specs.size(); ++o) specs[o].suffix = o == 0 ? "" : std::to_string(o);
    if (!rule_) return specs;
    for (const SampleRule::Sum& sum : rule_->sums) {
      specs[sum.output].type = {DType::f32, {3}};
      if (sum.accumulator && call.has(*sum.accumulator)) specs[sum.output].overwrites = sum.accumulator;
    }
    return specs;
  }
  std::optional<SampleRule> samples(const OpCall&) const override { return rule_; }
  Cost cost(const OpCall&) const override { return {}; }

 private:
  const std::string name_;
  const size_t outputs_;
  const std::optional<SampleRule> rule_;
};

OpTable ruled_ops() {
  OpTable ops;
  const auto add = [&](std::string name, size_t outputs, std::optional<SampleRule> rule) {
    ops.add(std::make_unique<RuledOp>(std::move(name), outputs, std::move(rule)));
  };
  add("each", 1, SampleRule{.inputs = {0}, .outputs = {0}});
  add("sum", 1, SampleRule{.inputs = {0}, .sums = {{0, 1}}});
  add("grouped", 2, SampleRule{.inputs = {0}, .outputs = {0}, .sums = {{1, 1}}, .group = 4});
  add("parameters_only", 1, SampleRule{});
  add("unknown", 1, std::nullopt);
  add("update", 1, SampleRule{.inputs = {0}, .outputs = {0}});
  return ops;
}

class SampleGroups : public ::testing::Test {
 protected:
  ValueId samples(const std::string& name, int64_t rows) {
    return builder_.external(name, {DType::f32, Shape{rows, 3}}, Category::input, Scope::micro_batch);
  }
  ValueId accumulator(const std::string& name) {
    return builder_.external(name, {DType::f32, {3}}, Category::gradients, Scope::step);
  }
  int64_t rows_at(const std::string& node) const {
    for (NodeId id : graph_.order())
      if (graph_.node(id).name == node) return graph_.node(id).attributes.integer_or(kRowsOfGroup, 0);
    return -1;
  }
  std::string in_the_way(int64_t of, int64_t group) {
    const NodeId node = sum_in_groups(graph_, ops_, of, group);
    return node.valid() ? graph_.node(node).name : "";
  }

  const OpTable ops_ = ruled_ops();
  Graph graph_{"g"};
  Builder builder_{graph_, ops_};
};

TEST_F(SampleGroups, NodesThatSumGetTheRowsOfAGroup) {
  const ValueId x = samples("x", 10), tokens = samples("tokens", 30);
  builder_.op("each", "each", {x});
  builder_.op("sum", "sum", {x});
  builder_.op("sum", "sum_of_rows", {tokens, accumulator("a")});
  builder_.op("grouped", "grouped", {x});
  builder_.op("parameters_only", "parameters_only", {accumulator("b")});
  EXPECT_EQ(in_the_way(10, 4), "");
  EXPECT_EQ(rows_at("sum"), 4);
  EXPECT_EQ(rows_at("each"), 4) << "its kernel is chosen for a group";
  EXPECT_EQ(rows_at("sum_of_rows"), 12) << "three rows a sample";
  for (const char* node : {"grouped", "parameters_only"}) EXPECT_EQ(rows_at(node), 0) << node;
}

TEST_F(SampleGroups, WhatHangsOnTheNumberOfSamplesIsInTheWay) {
  const ValueId x = samples("x", 10);
  builder_.op("sum", "sum", {x});
  builder_.op("unknown", "unknown", {x});
  EXPECT_EQ(in_the_way(10, 4), "unknown");
  EXPECT_EQ(rows_at("sum"), 0) << "all or nothing";
}

// What only parameters go into hangs on no samples, whatever its op and its rows.
TEST_F(SampleGroups, NodesWithoutSamplesAreLeftAlone) {
  const ValueId w = builder_.external("w", {DType::f32, Shape{20, 3}}, Category::weights, Scope::run);
  builder_.op("unknown", "unknown", {w});
  builder_.op("sum", "sum", {w});
  EXPECT_EQ(in_the_way(10, 4), "");
  EXPECT_EQ(rows_at("sum"), 0);
}

TEST_F(SampleGroups, OtherGroupsAreInTheWay) {
  builder_.op("grouped", "grouped", {samples("x", 10)});
  EXPECT_EQ(in_the_way(10, 5), "grouped");
  EXPECT_EQ(in_the_way(10, 4), "");
}

TEST_F(SampleGroups, RowsThatAreNoMultipleOfTheSamplesAreInTheWay) {
  builder_.op("sum", "sum", {samples("x", 7)});
  EXPECT_EQ(in_the_way(10, 4), "sum");
}

// Two nodes onto one accumulator: with fewer samples at once they would take turns.
TEST_F(SampleGroups, ASumThatGoesOnFromAnotherIsInTheWay) {
  const ValueId x = samples("x", 10);
  const ValueId first = builder_.op("sum", "first", {x, accumulator("a")});
  builder_.op("sum", "second", {x, first});
  EXPECT_EQ(in_the_way(10, 4), "second");
}

class SampleGroupsOnto : public SampleGroups {};

TEST_F(SampleGroupsOnto, AGradientThatIsNoSumOfItsNodeIsInTheWay) {
  class IntoOp : public RuledOp {
   public:
    IntoOp() : RuledOp("into", 1, SampleRule{.inputs = {0, 1}, .outputs = {0}}) {}
    std::vector<OutputSpec> outputs(const OpCall& call) const override {
      return {{.type = call.input(0), .overwrites = 0}};
    }
  };
  OpTable ops = ruled_ops();
  ops.add(std::make_unique<IntoOp>());
  Builder builder(graph_, ops);
  const ValueId sum = builder.op("sum", "sum", {samples("x", 10)});
  builder.op("into", "into", {accumulator("a"), sum});
  const NodeId node = sum_in_groups(graph_, ops, 10, 4);
  ASSERT_TRUE(node.valid());
  EXPECT_EQ(graph_.node(node).name, "into");
}

}  // namespace
}  // namespace tidemark
