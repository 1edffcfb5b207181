#include "graph/builder.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "graph/fake_ops.h"

namespace tidemark {
namespace {

const ValueType kType{DType::f32, {2, 3}};

class BuilderTest : public ::testing::Test {
 protected:
  template <class Call>
  std::string config_error(Call call) {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::config);
      return error.what();
    }
    return "no error";
  }

  OpTable ops_ = testing::fake_ops();
  Graph graph_{"net"};
  Builder builder_{graph_, ops_};
};

TEST_F(BuilderTest, NamesAreHierarchical) {
  const ValueId x = builder_.external("x", kType, Category::input, Scope::micro_batch);
  ValueId w, y;
  {
    const auto layer = builder_.scope("layer0");
    const auto mlp = builder_.scope("mlp");
    w = builder_.parameter("weight", kType);
    y = builder_.op("product", "up", {x, w});
  }
  const ValueId z = builder_.op("gate", "gate", {y});
  EXPECT_EQ(graph_.value(w).name, "layer0/mlp/weight");
  EXPECT_EQ(graph_.value(y).name, "layer0/mlp/up");
  EXPECT_EQ(graph_.node(graph_.value(y).producer).name, "layer0/mlp/up");
  EXPECT_EQ(graph_.value(z).name, "gate");
  EXPECT_TRUE(graph_.find_value("gate/mask").valid());
}

TEST_F(BuilderTest, ValuesCarryCategoryScopeAndType) {
  const ValueId w = builder_.parameter("w", kType);
  EXPECT_EQ(graph_.value(w).category, Category::weights);
  EXPECT_EQ(graph_.value(w).scope, Scope::run);
  const ValueId y = builder_.op("gate", "gate", {w});
  EXPECT_EQ(graph_.value(y).category, Category::activations);
  EXPECT_EQ(graph_.value(y).scope, Scope::micro_batch);
  EXPECT_EQ(builder_.type(y), kType);
}

TEST_F(BuilderTest, AnOutputInPlaceContinuesItsInput) {
  const ValueId w = builder_.parameter("w", kType);
  const ValueId g = builder_.external("g", kType, Category::gradients, Scope::step);
  const ValueId w1 = builder_.op("update", "update", {w, g});
  EXPECT_EQ(graph_.value(w1).overwrites, w);
  EXPECT_EQ(graph_.value(w1).version, 1);
  EXPECT_EQ(graph_.value(w1).scope, Scope::run);
  EXPECT_EQ(graph_.value(w1).category, Category::weights);
  EXPECT_EQ(graph_.value(builder_.op("update", "again", {w1, g})).version, 2);
}

TEST_F(BuilderTest, AnAbsentAccumulatorGivesAFreshValue) {
  const ValueId x = builder_.parameter("x", kType);
  const ValueId d = builder_.op("product_grad", "d", {x, x, ValueId()}, {{"like", std::vector<int64_t>{2, 3}}});
  EXPECT_FALSE(graph_.value(d).overwrites.valid());
  EXPECT_EQ(graph_.value(d).category, Category::gradients);
  EXPECT_EQ(graph_.value(d).version, 0);
}

TEST_F(BuilderTest, NodeNamesAreMadeUnique) {
  const ValueId x = builder_.parameter("x", kType);
  builder_.op("opaque", "n", {x});
  const ValueId second = builder_.op("opaque", "n", {x});
  EXPECT_EQ(graph_.value(second).name, "n_2");
  EXPECT_EQ(graph_.node(graph_.value(second).producer).name, "n_2");
}

TEST_F(BuilderTest, ErrorsNameNodeAndOp) {
  const ValueId a = builder_.parameter("a", kType);
  const ValueId b = builder_.parameter("b", {DType::f32, {4}});
  const auto prefix = builder_.scope("layer3");
  EXPECT_EQ(config_error([&] {
              builder_.op("add", "sum", {a, b});
            }),
            "node 'layer3/sum' (add): input 1 is f32[4], not f32[2,3]");
  EXPECT_EQ(config_error([&] { builder_.op("add", "sum", {a}); }), "node 'layer3/sum' (add): input 1 is missing");
  EXPECT_EQ(config_error([&] { builder_.op("prodct", "p", {a, b}); }), "unknown op 'prodct'; the nearest is 'product'");
  builder_.parameter("c", kType);
  EXPECT_EQ(config_error([&] { builder_.parameter("c", kType); }), "graph 'net' has two values named 'layer3/c'");
  EXPECT_TRUE(graph_.order().empty());
}

class AnotherAdd : public Op {
 public:
  std::string_view name() const override { return "add"; }
  std::vector<OutputSpec> outputs(const OpCall&) const override { return {}; }
  Cost cost(const OpCall&) const override { return {}; }
};

TEST(OpTable, ListsItsOpsAndRefusesASecondOfAName) {
  OpTable ops = testing::fake_ops();
  EXPECT_EQ(ops.names().front(), "add");
  EXPECT_EQ(ops.find("gate").name(), "gate");
  EXPECT_THROW(OpTable().find("gate"), Error);
  EXPECT_DEATH(ops.add(std::make_unique<AnotherAdd>()), "op 'add' is in the table already");
}

}  // namespace
}  // namespace tidemark
