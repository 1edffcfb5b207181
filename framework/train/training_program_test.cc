#include "framework/train/training_program.h"

#include <gtest/gtest.h>

#include "framework/models/mlp.h"
#include "ops/all_ops.h"

namespace tidemark::train {
namespace {

class TrainingProgramTest : public ::testing::Test {
 protected:
  std::vector<std::string> bodies(const BatchPlan& batch) {
    graphs_ = build_training_graphs(models::Mlp(), data_, *optimizer_, batch, ops_.table());
    std::vector<std::string> names;
    for (const compile::BodySpec& body : graphs_.bodies) names.push_back(body.name);
    return names;
  }

  const compile::BodySpec& body(std::string_view name) const {
    for (const compile::BodySpec& b : graphs_.bodies)
      if (b.name == name) return b;
    throw std::out_of_range(std::string(name));
  }

  size_t nodes(std::string_view name, std::string_view op) const {
    const Graph& graph = body(name).graph;
    size_t count = 0;
    for (NodeId id : graph.order()) count += graph.node(id).op == op;
    return count;
  }

  const ops::OpSet ops_ = ops::all_ops();
  const data::DataInfo data_{.fields = {{"images", {DType::f32, Shape{28, 28, 1}}}, {"labels", {DType::i32, Shape{}}}},
                             .classes = 10,
                             .kind = "fashion_mnist"};
  const std::unique_ptr<optim::Optimizer> optimizer_ = optim::make_optimizer("adamw", {});
  TrainingGraphs graphs_;
};

using Names = std::vector<std::string>;

TEST_F(TrainingProgramTest, OneMicroBatchWithoutClippingUpdatesInTheStep) {
  EXPECT_EQ(bodies({.global_batch = 32, .micro_batch = 32, .train_samples = 100, .eval_samples = 70}),
            (Names{"step[32]", "step[4]", "evaluate[32]", "evaluate[6]", "checkpoint"}));
  EXPECT_EQ(nodes("step[32]", "adamw_update"), 6U);
  EXPECT_FALSE(body("step[32]").shares_step_segment);
}

TEST_F(TrainingProgramTest, AccumulationKeepsGradientsOverMicroBatches) {
  // 100 = 3 x 32 + 4; 32 = 2 x 12 + 8.
  EXPECT_EQ(bodies({.global_batch = 32, .micro_batch = 12, .train_samples = 100}),
            (Names{"micro_batch[12]", "micro_batch[8]", "micro_batch[4]", "update", "begin", "checkpoint"}));
  EXPECT_EQ(nodes("micro_batch[12]", "adamw_update"), 0U);
  EXPECT_EQ(nodes("update", "adamw_update"), 6U);
  EXPECT_EQ(nodes("begin", "fill"), 6U);
  EXPECT_TRUE(body("micro_batch[12]").shares_step_segment);
  for (const Value& v : body("micro_batch[12]").graph.values())
    EXPECT_TRUE(v.category != Category::gradients || !v.external() || v.scope == Scope::step) << v.name;
}

TEST_F(TrainingProgramTest, ClippingNeedsAllGradientsAtOnce) {
  EXPECT_EQ(bodies({.global_batch = 32, .micro_batch = 32, .train_samples = 64, .clip_norm = 1.0}),
            (Names{"micro_batch[32]", "update", "begin", "checkpoint"}));
  EXPECT_EQ(nodes("update", "clip_scale"), 1U);
  EXPECT_EQ(nodes("update", "squared_norm"), 6U);
}

TEST_F(TrainingProgramTest, BatchLargerThanTheDataSetIsOneSmallerBody) {
  EXPECT_EQ(bodies({.global_batch = 64, .micro_batch = 64, .train_samples = 10}), (Names{"step[10]", "checkpoint"}));
}

TEST(BatchPlan, MicroBatchesCoverTheSamples) {
  const BatchPlan plan{.global_batch = 10, .micro_batch = 4, .train_samples = 100};
  EXPECT_EQ(plan.micro_batches(10), (std::vector<int64_t>{4, 4, 2}));
  EXPECT_EQ(plan.micro_batches(3), (std::vector<int64_t>{3}));
  EXPECT_EQ(plan.micro_batches(0), (std::vector<int64_t>{}));
  EXPECT_EQ(plan.accumulation_steps(), 3);
  EXPECT_TRUE(plan.accumulates());
}

TEST(BatchPlan, EvaluationCutsItsBatchesLikeGlobalOnes) {
  // 43 = 20 + 20 + 3.
  const BatchPlan plan{
      .global_batch = 20, .micro_batch = 12, .eval_batch = 20, .train_samples = 100, .eval_samples = 43};
  EXPECT_EQ(plan.evaluation_micro_batches(), (std::vector<int64_t>{12, 8, 12, 8, 3}));
  const BatchPlan by_micro_batches{.global_batch = 20, .micro_batch = 12, .train_samples = 100, .eval_samples = 43};
  EXPECT_EQ(by_micro_batches.evaluation_micro_batches(), (std::vector<int64_t>{12, 12, 12, 7}));
  EXPECT_EQ(BatchPlan{}.evaluation_micro_batches(), (std::vector<int64_t>{}));
}

}  // namespace
}  // namespace tidemark::train
