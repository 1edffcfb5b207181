// Every model kind builds, differentiates and has the parameters that its paper counts.
#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"
#include "framework/models/gpt.h"
#include "framework/models/mlp.h"
#include "framework/models/model_keys.h"
#include "framework/models/resnet.h"
#include "graph/autodiff.h"
#include "graph/verifier.h"
#include "ops/all_ops.h"

namespace tidemark::models {
namespace {

data::DataInfo images() {
  return {.fields = {{"images", {DType::f32, Shape{28, 28, 1}}}, {"labels", {DType::i32, Shape{}}}},
          .classes = 10,
          .kind = "fashion_mnist"};
}

data::DataInfo text(int64_t context, int64_t classes) {
  const ValueType window{DType::i32, Shape{context}};
  return {.fields = {{"tokens", window}, {"targets", window}}, .classes = classes, .kind = "text"};
}

data::DataInfo lines() {
  const ValueType number{DType::i32, Shape{}};
  return {.fields = {{"tokens", number, true}, {"targets", number, true}, {"lengths", number}},
          .classes = 256,
          .kind = "lines",
          .packed = true};
}

// What the model can be trained on.
data::DataInfo data_for(const Model& model) {
  for (const data::DataInfo& data : {images(), text(model.context(), 256), lines()})
    if (model.problems(data).empty()) return data;
  ADD_FAILURE() << "no data for " << model.kind();
  return images();
}

class ModelsTest : public ::testing::Test {
 protected:
  // The graph of one body, with its backward pass if it trains.
  Graph build(const Model& model, const data::DataInfo& data, int64_t batch, bool training) {
    Graph graph("body");
    ModelBuilder builder(graph, ops_.table());
    ModelRequest request{.data = data,
                         .batch = batch,
                         .rows = data.packed ? 3 * batch : 0,
                         .training = training,
                         .norm_batch = model.has_batch_norm() ? 4 : 0,
                         .seed = 1,
                         .inputs = {},
                         .sample_ids = {},
                         .step_state = {},
                         .loss_weight = {}};
    for (const data::InputField& field : data.fields) {
      std::vector<int64_t> dims{field.per_row ? request.rows : batch};
      if (field.name != "labels")
        dims.insert(dims.end(), field.sample.shape.dims().begin(), field.sample.shape.dims().end());
      request.inputs.push_back(builder.external("input/" + field.name, {field.sample.dtype, Shape(dims)},
                                                Category::input, Scope::micro_batch));
    }
    request.sample_ids = builder.external("ids", {DType::i32, Shape{batch}}, Category::input, Scope::micro_batch);
    request.step_state = builder.external("state", {DType::i32, Shape{2}}, Category::input, Scope::step);
    request.loss_weight = builder.external("weight", {DType::f32, Shape{1}}, Category::input, Scope::step);
    const ModelOutputs outputs = model.build(builder, request);
    builder.result(outputs.loss);
    EXPECT_EQ(builder.type(outputs.loss), (ValueType{DType::f32, Shape{1}}));
    initializers_ = builder.initializers();
    if (training) gradients_ = append_backward(graph, ops_.table(), outputs.loss).of.size();
    verify(graph, ops_.table());
    return graph;
  }

  static int64_t parameters(const Graph& graph) {
    int64_t count = 0;
    for (const Value& v : graph.values())
      if (v.category == Category::weights && v.external()) count += v.type.shape.elements();
    return count;
  }

  static size_t weights(const Graph& graph) {
    size_t count = 0;
    for (const Value& v : graph.values()) count += v.category == Category::weights && v.external();
    return count;
  }

  static size_t nodes(const Graph& graph, std::string_view op) {
    size_t count = 0;
    for (NodeId id : graph.order()) count += graph.node(id).op == op;
    return count;
  }

  const ops::OpSet ops_ = ops::all_ops();
  std::map<std::string, Initializer> initializers_;
  size_t gradients_ = 0;
};

TEST_F(ModelsTest, EveryParameterHasAGradientAndAFirstValue) {
  for (const auto& model : all_models()) {
    const data::DataInfo data = data_for(*model);
    const Graph graph = build(*model, data, 4, true);
    EXPECT_EQ(gradients_, weights(graph)) << model->kind();
    for (const Value& v : graph.values()) {
      EXPECT_TRUE(!v.external() || v.scope != Scope::run || initializers_.contains(v.name)) << v.name;
    }
  }
}

TEST_F(ModelsTest, EvaluationHasTheSameParametersAndNothingRandomOrUpdated) {
  for (const auto& model : all_models()) {
    Keys keys;
    keys.reals_by_name["dropout"] = 0.5;
    model->fields(keys);
    const data::DataInfo data = data_for(*model);
    const Graph training = build(*model, data, 4, true), evaluation = build(*model, data, 4, false);
    EXPECT_EQ(parameters(training), parameters(evaluation)) << model->kind();
    EXPECT_EQ(nodes(evaluation, "dropout") + nodes(evaluation, "batch_norm") +
                  nodes(evaluation, "batch_norm_update_statistics"),
              0U)
        << model->kind();
  }
}

TEST_F(ModelsTest, Gpt2HasItsParameters) {
  Gpt model;
  Keys keys;
  keys.integers_by_name = {{"layers", 12},  {"heads", 12},       {"width", 768},
                           {"context", 64}, {"positions", 1024}, {"vocabulary", 50257}};
  model.fields(keys);
  const Graph graph = build(model, text(64, 256), 1, false);
  constexpr int64_t kPaper = 124'439'808, kPaddingRows = 50'304 - 50'257;
  EXPECT_EQ(parameters(graph), kPaper + kPaddingRows * 768);
}

TEST_F(ModelsTest, MlpCountsItsParameters) {
  Mlp model;
  Keys keys;
  keys.lists_by_name["hidden"] = {100};
  model.fields(keys);
  EXPECT_EQ(parameters(build(model, images(), 2, true)), 784 * 100 + 100 + 100 * 10 + 10);
}

TEST_F(ModelsTest, EveryDropoutDrawsItsOwnMask) {
  Gpt model;
  Keys keys;
  keys.reals_by_name["dropout"] = 0.1;
  keys.integers_by_name["layers"] = 3;
  model.fields(keys);
  const Graph graph = build(model, text(128, 256), 2, true);
  std::map<int64_t, int> uses;
  for (NodeId id : graph.order())
    if (graph.node(id).op == "dropout") ++uses[graph.node(id).attributes.integer("op_index")];
  EXPECT_EQ(uses.size(), 1U + 2U * 3U) << "after the embedding and each branch";
  for (const auto& [site, count] : uses) EXPECT_EQ(count, 2) << "forward and backward of site " << site;
}

// A block's output costs one pass after its last convolution, and no mask keeps an output alive but the block's own.
TEST_F(ModelsTest, ResidualBlocksNormaliseAddAndRectifyInOneNode) {
  ResNet model;
  const Graph evaluation = build(model, images(), 4, false), training = build(model, images(), 4, true);
  const size_t blocks = 6, shortcuts = 2;
  EXPECT_EQ(nodes(evaluation, "add") + nodes(evaluation, "relu") + nodes(training, "relu"), 0U);
  EXPECT_EQ(nodes(evaluation, "batch_norm_inference"), 1 + 2 * blocks + shortcuts);
  EXPECT_EQ(nodes(training, "relu_grad"), blocks);
  EXPECT_TRUE(training.find_value("stage2/block1/out").valid());
  for (const Graph* graph : {&evaluation, &training}) {
    for (NodeId id : graph->order()) {
      const Node& node = graph->node(id);
      const size_t without_residual = node.op == "batch_norm" ? 3 : node.op == "batch_norm_inference" ? 5 : 0;
      if (without_residual == 0) continue;
      const bool ends_block = node.name.ends_with("/out");
      EXPECT_EQ(node.inputs.size(), without_residual + (ends_block ? 1 : 0)) << node.name;
      EXPECT_EQ(node.attributes.boolean_or("relu", false), !node.name.ends_with("shortcut/normalise")) << node.name;
    }
  }
  for (NodeId id : training.order()) {
    const Node& node = training.node(id);
    if (node.op != "batch_norm_grad") continue;
    for (ValueId input : node.inputs) {
      if (!input.valid() || !training.value(input).producer.valid()) continue;
      const Node& from = training.node(training.value(input).producer);
      EXPECT_FALSE(from.op == "batch_norm" && from.outputs[0] == input) << node.name << " reads " << from.name;
    }
  }
}

TEST_F(ModelsTest, ProblemsBetweenKeysAndDataAreNamed) {
  Gpt gpt;
  Keys keys;
  keys.integers_by_name = {{"width", 100}, {"heads", 6}, {"vocabulary", 100}, {"positions", 5}};
  gpt.fields(keys);
  EXPECT_EQ(gpt.problems(text(128, 256)).size(), 3U);
  EXPECT_EQ(gpt.problems(images()).size(), 3U) << "width, positions, data kind";
  EXPECT_EQ(Mlp().problems(text(128, 256)).size(), 1U);
  ResNet deep;
  Keys stages;
  stages.lists_by_name["blocks"] = {1, 1, 1, 1, 1, 1};
  deep.fields(stages);
  EXPECT_EQ(deep.problems(images()).size(), 1U) << "28 pixels cannot be halved five times";
  stages.lists_by_name["blocks"].assign(66, 1);
  deep.fields(stages);
  EXPECT_EQ(deep.problems(images()).size(), 1U) << "nor sixty-five times";
}

}  // namespace
}  // namespace tidemark::models
