#include "framework/optim/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "graph/verifier.h"
#include "ops/all_ops.h"

namespace tidemark::optim {
namespace {

class OptimizerTest : public ::testing::Test {
 protected:
  // The update node of one parameter of this shape.
  const Node& update_of(const Optimizer& optimizer, const Shape& shape) {
    Builder b(graph_, ops_.table());
    const ValueId parameter = b.parameter("p", {DType::f32, shape});
    const ValueId gradient = b.external("p/gradient", {DType::f32, shape}, Category::gradients, Scope::step);
    const ValueId hyper =
        b.external("hyper", {DType::f32, Shape{optimizer.hyper_size()}}, Category::input, Scope::step);
    optimizer.append_update(b, {parameter, gradient}, hyper, ValueId());
    verify(graph_, ops_.table());
    return graph_.node(graph_.order().back());
  }

  int64_t state_bytes() const {
    int64_t bytes = 0;
    for (const Value& v : graph_.values())
      if (v.external() && v.category == Category::optimizer) bytes += v.type.bytes();
    return bytes;
  }

  const ops::OpSet ops_ = ops::all_ops();
  Graph graph_{"update"};
};

TEST_F(OptimizerTest, AdamWKeepsTwoMomentsAndUpdatesInPlace) {
  const Node& node = update_of(*make_optimizer("adamw", {.weight_decay = 0.1}), Shape{4, 8});
  EXPECT_EQ(node.op, "adamw_update");
  EXPECT_EQ(state_bytes(), 2 * 4 * 8 * 4);
  ASSERT_EQ(node.outputs.size(), 3U);
  for (ValueId v : node.outputs) EXPECT_EQ(graph_.value(v).version, 1);
  EXPECT_EQ(node.attributes.real("weight_decay"), 0.1);
}

TEST_F(OptimizerTest, VectorsDoNotDecay) {
  const Node& node = update_of(*make_optimizer("adamw", {.weight_decay = 0.1}), Shape{8});
  EXPECT_EQ(node.attributes.real("weight_decay"), 0.0);
}

TEST_F(OptimizerTest, SgdWithoutMomentumKeepsNoState) {
  update_of(*make_optimizer("sgd", {.momentum = 0.0}), Shape{8});
  EXPECT_EQ(state_bytes(), 0);
}

TEST_F(OptimizerTest, SgdWithMomentumKeepsOneState) {
  update_of(*make_optimizer("sgd", {.momentum = 0.9}), Shape{8});
  EXPECT_EQ(state_bytes(), 8 * 4);
}

TEST_F(OptimizerTest, AdamWCorrectsTheBiasOfTheStep) {
  const auto adamw = make_optimizer("adamw", {.beta1 = 0.9, .beta2 = 0.99});
  std::vector<float> hyper(4);
  adamw->write_hyper(0, 0.5, hyper);
  EXPECT_FLOAT_EQ(hyper[0], 0.5F);
  EXPECT_FLOAT_EQ(hyper[1], 10.0F) << "1 / (1 - 0.9)";
  EXPECT_FLOAT_EQ(hyper[2], 100.0F);
  adamw->write_hyper(100'000, 0.5, hyper);
  EXPECT_FLOAT_EQ(hyper[1], 1.0F);
}

TEST(OptimizerList, UnknownNameNamesTheKnownOnes) {
  EXPECT_EQ(optimizer_names(), (std::vector<std::string>{"adamw", "sgd"}));
  try {
    make_optimizer("adam", {});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::config);
    EXPECT_NE(std::string(error.what()).find("adamw, sgd"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tidemark::optim
