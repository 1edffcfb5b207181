#include "ops/layer_norm/layer_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <ostream>

#include "base/error.h"
#include "ops/add/add.h"
#include "ops/testing/op_case.h"

namespace tidemark::ops {
namespace {

using testing::OpCase;
using testing::Reference;

OpSet layer_norm_ops() {
  OpSet ops;
  ops.add(add_op());
  ops.add(add_into_op());  // for accumulators
  ops.add(layer_norm_op());
  ops.add(layer_norm_grad_op());
  return ops;
}

struct Statistics {
  std::vector<double> mean, rstd;
};

Statistics statistics(const std::vector<double>& x, size_t channels, double eps) {
  Statistics s;
  for (size_t begin = 0; begin < x.size(); begin += channels) {
    double mean = 0, variance = 0;
    for (size_t c = 0; c < channels; ++c) mean += x[begin + c] / channels;
    for (size_t c = 0; c < channels; ++c) variance += std::pow(x[begin + c] - mean, 2) / channels;
    s.mean.push_back(mean);
    s.rstd.push_back(1 / std::sqrt(variance + eps));
  }
  return s;
}

std::vector<Reference> forward(const Attributes& attributes, const std::vector<Reference>& in) {
  const size_t channels = in[1].data.size();
  const Statistics s = statistics(in[0].data, channels, attributes.real("eps"));
  Reference y = in[0];
  for (size_t i = 0; i < y.data.size(); ++i) {
    const size_t row = i / channels, c = i % channels;
    y.data[i] = (y.data[i] - s.mean[row]) * s.rstd[row] * in[1].data[c] + in[2].data[c];
  }
  const ValueType statistic = {DType::f32, {static_cast<int64_t>(s.mean.size())}};
  return {y, {statistic, s.mean}, {statistic, s.rstd}};
}

std::vector<double> or_zeros(const std::vector<double>& sum, size_t count) {
  return sum.empty() ? std::vector<double>(count) : sum;
}

std::vector<Reference> backward(const Attributes&, const std::vector<Reference>& in) {
  const std::vector<double>&dy = in[0].data, &x = in[1].data, &gamma = in[2].data;
  const size_t channels = gamma.size();
  std::vector<double> dx = or_zeros(in[5].data, x.size());
  std::vector<double> dgamma = or_zeros(in[6].data, channels), dbeta = or_zeros(in[7].data, channels);
  for (size_t begin = 0; begin < x.size(); begin += channels) {
    const double mean = in[3].data[begin / channels], rstd = in[4].data[begin / channels];
    double mean_g = 0, mean_gn = 0;
    for (size_t c = 0; c < channels; ++c) {
      const double normalized = (x[begin + c] - mean) * rstd, g = dy[begin + c] * gamma[c];
      mean_g += g / channels, mean_gn += g * normalized / channels;
      dgamma[c] += dy[begin + c] * normalized, dbeta[c] += dy[begin + c];
    }
    for (size_t c = 0; c < channels; ++c) {
      const double normalized = (x[begin + c] - mean) * rstd;
      dx[begin + c] += rstd * (dy[begin + c] * gamma[c] - mean_g - normalized * mean_gn);
    }
  }
  return {{in[1].type, dx}, {in[2].type, dgamma}, {in[2].type, dbeta}};
}

std::vector<double> as_floats(std::vector<double> values) {
  for (double& value : values) value = static_cast<float>(value);
  return values;
}

std::vector<double> drawn(int64_t count) {
  std::vector<double> values;
  uint32_t state = 77;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>((state = state * 1664525u + 1013904223u) / 1073741824.0 - 2));
  }
  return values;
}

OpCase forward_case(Shape shape, double mean = 0.3) {
  const ValueType x{DType::f32, shape}, channels{DType::f32, {shape.dim(-1)}};
  return {.name = "layer_norm " + to_string(shape),
          .op = "layer_norm",
          .attributes = {{"eps", 1e-5}},
          .inputs = {{.type = x, .mean = mean}, {.type = channels, .mean = 1}, {.type = channels}},
          .reference = forward,
          .flops = 7.0 * shape.elements()};
}

// accumulate: bit 0 onto dx, bit 1 onto dgamma and dbeta.
OpCase backward_case(Shape shape, int accumulate) {
  const ValueType x{DType::f32, shape}, channels{DType::f32, {shape.dim(-1)}};
  const std::vector<double> values = drawn(shape.elements());
  const Statistics s = statistics(values, shape.dim(-1), 1e-5);
  const ValueType statistic{DType::f32, {static_cast<int64_t>(s.mean.size())}};
  return {.name = "layer_norm_grad " + to_string(shape) + " onto " + std::to_string(accumulate),
          .op = "layer_norm_grad",
          .inputs = {{.type = x},
                     {.type = x, .values = values},
                     {.type = channels, .mean = 1},
                     {.type = statistic, .values = as_floats(s.mean)},
                     {.type = statistic, .values = as_floats(s.rstd)},
                     {.type = x, .absent = !(accumulate & 1)},
                     {.type = channels, .absent = !(accumulate & 2)},
                     {.type = channels, .absent = !(accumulate & 2)}},
          .reference = backward,
          .tolerance = 3e-5,
          .check_gradient = false,
          .flops = 13.0 * shape.elements()};
}

class LayerNorm : public ::testing::TestWithParam<Shape> {};

TEST_P(LayerNorm, MatchesReferenceAndHasItsGradient) {
  testing::check_op_case(layer_norm_ops(), forward_case(GetParam()));
}

TEST_P(LayerNorm, GradientMatchesReferenceFreshAndOntoSums) {
  for (const int accumulate : {0, 1, 2, 3})
    testing::check_op_case(layer_norm_ops(), backward_case(GetParam(), accumulate));
}

INSTANTIATE_TEST_SUITE_P(All, LayerNorm,
                         ::testing::Values(Shape{7}, Shape{1, 2}, Shape{2, 3, 5}, Shape{1, 65}, Shape{7, 16},
                                           Shape{3, 130}, Shape{5, 33, 48}, Shape{150, 129}));

TEST(LayerNorm, LargeMeanDoesNotDrownTheVariance) {
  OpCase op_case = forward_case({4, 100}, 3000);
  op_case.tolerance = 2e-3;  // the inputs themselves are rounded to 1/4096
  op_case.check_gradient = false;
  testing::check_op_case(layer_norm_ops(), op_case);
}

TEST(LayerNorm, RefusesShapesThatDoNotFit) {
  const OpSet ops = layer_norm_ops();
  const std::optional<ValueType> types[] = {ValueType{DType::f32, {2, 3}}, ValueType{DType::f32, {2}},
                                            ValueType{DType::f32, {3}}};
  const Attributes attributes{{"eps", 1e-5}};
  try {
    ops.table().find("layer_norm").outputs({attributes, types});
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "op 'layer_norm', operand 'gamma': wanted shape [3], given f32[2]");
  }
}

}  // namespace
}  // namespace tidemark::ops
