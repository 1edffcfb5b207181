#include "ops/activation/activation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "ops/testing/op_case.h"

namespace tidemark::ops {
namespace {

using testing::OpCase;
using testing::Reference;

OpSet activation_ops() {
  OpSet ops;
  ops.add(gelu_op());
  ops.add(gelu_grad_op());
  ops.add(relu_op());
  ops.add(relu_grad_op());
  return ops;
}

double gelu(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }

double gelu_derivative(double x) {
  const double t = std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
}

template <double (*F)(double)>
std::vector<Reference> each(const Attributes&, const std::vector<Reference>& inputs) {
  Reference out = inputs[0];
  for (double& value : out.data) value = F(value);
  return {out};
}

template <double (*F)(double)>
std::vector<Reference> each_times_dy(const Attributes&, const std::vector<Reference>& inputs) {
  Reference out = inputs[1];
  for (size_t i = 0; i < out.data.size(); ++i) out.data[i] *= F(inputs[0].data[i]);
  return {out};
}

double relu(double x) { return x > 0 ? x : 0; }
double step(double y) { return y > 0 ? 1 : 0; }

OpCase unary(const std::string& op, Shape shape, std::vector<double> values = {}) {
  const double flops = static_cast<double>(shape.elements()) * (op == "gelu" ? 8 : 1);
  return {.name = op + " " + to_string(shape),
          .op = op,
          .inputs = {{.type = {DType::f32, shape}, .stddev = 2.0, .values = std::move(values)}},
          .reference = op == "gelu" ? each<gelu> : each<relu>,
          .tolerance = 1e-6,
          .flops = flops};
}

OpCase gradient(const std::string& op, Shape shape) {
  const double flops = static_cast<double>(shape.elements()) * (op == "gelu_grad" ? 15 : 1);
  return {.name = op + " " + to_string(shape),
          .op = op,
          .inputs = {{.type = {DType::f32, shape}, .stddev = 2.0}, {.type = {DType::f32, shape}}},
          .reference = op == "gelu_grad" ? each_times_dy<gelu_derivative> : each_times_dy<step>,
          .tolerance = 2e-6,
          .check_gradient = false,
          .flops = flops};
}

class ActivationShapes : public ::testing::TestWithParam<Shape> {};

TEST_P(ActivationShapes, MatchReference) {
  for (const char* op : {"gelu", "relu"}) check_op_case(activation_ops(), unary(op, GetParam()));
  for (const char* op : {"gelu_grad", "relu_grad"}) check_op_case(activation_ops(), gradient(op, GetParam()));
}

INSTANTIATE_TEST_SUITE_P(All, ActivationShapes,
                         ::testing::Values(Shape{1}, Shape{17}, Shape{3, 5, 7}, Shape{2, 1024}, Shape{5, 3333}));

TEST(Activation, GeluOfLargeArgumentsIsExact) {
  OpCase op_case = unary("gelu", {7}, {-1e4, -88, -12, 0, 12, 88, 1e4});
  op_case.check_gradient = false;
  check_op_case(activation_ops(), op_case);
}

std::vector<float> run_on(const char* op, std::vector<float> x, std::vector<float> second = {}) {
  const ValueType type{DType::f32, {static_cast<int64_t>(x.size())}};
  std::vector<std::optional<ValueType>> types(second.empty() ? 1 : 2, type);
  const Attributes none;
  const OpSet ops = activation_ops();
  const KernelChoice choice = ops.choose_kernel(op, KernelDevice::cpu, {{none, types}, 1});
  std::vector<float> y(x.size());
  const void* inputs[] = {x.data(), second.data()};
  void* outputs[] = {y.data()};
  choice.kernel->run({.inputs = {inputs, types.size()}, .outputs = outputs});
  return y;
}

TEST(Activation, NanStaysNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const char* op : {"gelu", "relu"}) {
    const auto y = run_on(op, {nan, 1.0f});
    EXPECT_TRUE(std::isnan(y[0])) << op;
    EXPECT_FALSE(std::isnan(y[1])) << op;
  }
}

TEST(Activation, GradientOfLargeArgumentsIsStepLike) {
  EXPECT_EQ(run_on("gelu_grad", {-1e4f, 1e4f}, {3.0f, 3.0f}), (std::vector<float>{0.0f, 3.0f}));
}

TEST(Activation, GradientRefusesShapesThatDiffer) {
  const std::optional<ValueType> types[] = {ValueType{DType::f32, {2, 3}}, ValueType{DType::f32, {3, 2}}};
  const Attributes none;
  EXPECT_THROW(activation_ops().table().find("gelu_grad").outputs({none, types}), Error);
}

}  // namespace
}  // namespace tidemark::ops
