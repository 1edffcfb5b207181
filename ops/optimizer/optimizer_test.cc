#include "ops/optimizer/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "ops/testing/op_case.h"

namespace tidemark::ops {
namespace {

using testing::InputSpec;
using testing::OpCase;
using testing::Reference;

OpSet optimizer_ops() {
  OpSet ops;
  ops.add(sgd_update_op());
  ops.add(adamw_update_op());
  return ops;
}

InputSpec scalar(double value) { return {.type = {DType::f32, {1}}, .values = {value}}; }

double scale_of(const Reference& scale) { return scale.data.empty() ? 1.0 : scale.data[0]; }

std::vector<Reference> sgd(const Attributes& attributes, const std::vector<Reference>& inputs) {
  Reference param = inputs[0], buffer = inputs[2];
  const double momentum = attributes.real_or("momentum", 0);
  for (size_t i = 0; i < param.data.size(); ++i) {
    const double d = scale_of(inputs[4]) * inputs[1].data[i] + attributes.real_or("weight_decay", 0) * param.data[i];
    double move = d;
    if (!buffer.data.empty()) {
      move = buffer.data[i] = momentum * buffer.data[i] + d;
      if (attributes.boolean_or("nesterov", false)) move = d + momentum * move;
    }
    param.data[i] -= inputs[3].data[0] * move;
  }
  return buffer.data.empty() ? std::vector<Reference>{param} : std::vector<Reference>{param, buffer};
}

OpCase sgd_case(Shape shape, Attributes attributes, bool has_buffer, bool has_scale) {
  const ValueType type{DType::f32, shape};
  InputSpec scale = scalar(0.25);
  scale.absent = !has_scale;
  OpCase op_case{.name = to_string(shape), .op = "sgd_update", .attributes = std::move(attributes), .reference = sgd};
  op_case.inputs = {{.type = type}, {.type = type}, {.type = type, .absent = !has_buffer}, scalar(0.1), scale};
  op_case.tolerance = 1e-6;
  op_case.check_gradient = false;
  op_case.flops = (has_buffer ? 8.0 : 5.0) * static_cast<double>(shape.elements());
  return op_case;
}

TEST(SgdUpdate, MatchesReference) {
  for (const Shape& shape : {Shape{1}, Shape{3, 7}, Shape{2, 20000}}) {
    check_op_case(optimizer_ops(), sgd_case(shape, {}, false, false));
    check_op_case(optimizer_ops(), sgd_case(shape, {{"weight_decay", 0.3}}, false, true));
    check_op_case(optimizer_ops(), sgd_case(shape, {{"momentum", 0.9}, {"weight_decay", 0.3}}, true, false));
    check_op_case(optimizer_ops(), sgd_case(shape, {{"momentum", 0.9}, {"nesterov", true}}, true, true));
  }
}

std::vector<OutputSpec> outputs_of(const OpCase& op_case) {
  std::vector<std::optional<ValueType>> types;
  for (const InputSpec& spec : op_case.inputs) {
    types.push_back(spec.absent ? std::nullopt : std::optional<ValueType>(spec.type));
  }
  return optimizer_ops().table().find(op_case.op).outputs({op_case.attributes, types});
}

TEST(SgdUpdate, MomentumWithoutBufferIsRefused) {
  EXPECT_THROW(outputs_of(sgd_case({2}, {{"momentum", 0.9}}, false, false)), Error);
  EXPECT_THROW(outputs_of(sgd_case({2}, {{"nesterov", true}}, false, false)), Error);
}

std::vector<Reference> adamw(const Attributes& attributes, const std::vector<Reference>& inputs) {
  Reference param = inputs[0], m = inputs[2], v = inputs[3];
  const std::vector<double>& hyper = inputs[4].data;
  const double beta1 = attributes.real("beta1"), beta2 = attributes.real("beta2");
  for (size_t i = 0; i < param.data.size(); ++i) {
    const double g = scale_of(inputs[5]) * inputs[1].data[i];
    param.data[i] *= 1 - hyper[0] * attributes.real("weight_decay");
    m.data[i] = beta1 * m.data[i] + (1 - beta1) * g;
    v.data[i] = beta2 * v.data[i] + (1 - beta2) * g * g;
    param.data[i] -= hyper[0] * hyper[1] * m.data[i] / (std::sqrt(v.data[i] * hyper[2]) + attributes.real("eps"));
  }
  return {param, m, v};
}

OpCase adamw_case(Shape shape, int step, bool has_scale) {
  const ValueType type{DType::f32, shape};
  const double beta1 = 0.9, beta2 = 0.95;
  OpCase op_case{.name = to_string(shape) + " step " + std::to_string(step), .op = "adamw_update", .reference = adamw};
  op_case.attributes = {{"beta1", beta1}, {"beta2", beta2}, {"eps", 1e-8}, {"weight_decay", 0.1}};
  const std::vector<double> hyper = {0.01, 1 / (1 - std::pow(beta1, step)), 1 / (1 - std::pow(beta2, step)), 0};
  InputSpec scale = scalar(0.25);
  scale.absent = !has_scale;
  // Second moments are sums of squares: a mean of 4 keeps the normal numbers of the sample above 0.
  op_case.inputs = {{.type = type},
                    {.type = type},
                    {.type = type},
                    {.type = type, .mean = 4, .stddev = 0.5},
                    {.type = {DType::f32, {4}}, .values = hyper},
                    scale};
  op_case.tolerance = 2e-6;
  op_case.check_gradient = false;
  op_case.flops = 15.0 * static_cast<double>(shape.elements());
  return op_case;
}

TEST(AdamwUpdate, MatchesReference) {
  for (const Shape& shape : {Shape{1}, Shape{3, 7}, Shape{2, 20001}}) {
    check_op_case(optimizer_ops(), adamw_case(shape, 1, false));
    check_op_case(optimizer_ops(), adamw_case(shape, 1000, true));
  }
}

TEST(AdamwUpdate, FirstStepFromZeroMomentsMovesByLr) {
  OpCase op_case = adamw_case({5}, 1, false);
  op_case.attributes.set("weight_decay", 0.0);
  op_case.inputs[0].values = {0, 0, 0, 0, 0};
  op_case.inputs[1].values = {3, -3, 1e-3, 100, -0.5};
  op_case.inputs[2].values = op_case.inputs[3].values = op_case.inputs[0].values;
  check_op_case(optimizer_ops(), op_case);
  std::vector<Reference> inputs;
  for (const InputSpec& spec : op_case.inputs)
    inputs.push_back({spec.type, spec.absent ? std::vector<double>() : spec.values});
  const std::vector<double> moved = adamw(op_case.attributes, inputs)[0].data;
  for (const size_t i : {0, 1, 2, 3, 4}) EXPECT_NEAR(std::abs(moved[i]), 0.01, 1e-6);
}

TEST(Updates, RunOnceAndOverwriteTheirState) {
  for (const char* name : {"sgd_update", "adamw_update"}) {
    EXPECT_FALSE(optimizer_ops().table().find(name).may_run_twice());
  }
  const std::vector<OutputSpec> specs = outputs_of(adamw_case({2}, 1, false));
  ASSERT_EQ(specs.size(), 3u);
  EXPECT_EQ(specs[0].overwrites, 0u);
  EXPECT_EQ(specs[1].overwrites, 2u);
  EXPECT_EQ(specs[2].overwrites, 3u);
  EXPECT_EQ(specs[0].category, Category::weights);
  EXPECT_EQ(specs[2].category, Category::optimizer);
}

}  // namespace
}  // namespace tidemark::ops
