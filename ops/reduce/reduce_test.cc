#include "ops/reduce/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "ops/testing/op_case.h"

namespace tidemark::ops {
namespace {

using testing::InputSpec;
using testing::OpCase;
using testing::Reference;

OpSet reduce_ops() {
  OpSet ops;
  ops.add(sum_leading_op());
  ops.add(squared_norm_op());
  ops.add(clip_scale_op());
  return ops;
}

std::vector<Reference> sum_leading(const Attributes&, const std::vector<Reference>& inputs) {
  const int64_t columns = inputs[0].type.shape.dim(-1);
  Reference sum{{DType::f32, {columns}}, inputs[1].data};
  sum.data.resize(static_cast<size_t>(columns));
  for (size_t i = 0; i < inputs[0].data.size(); ++i) sum.data[i % sum.data.size()] += inputs[0].data[i];
  return {sum};
}

class SumLeading : public ::testing::TestWithParam<Shape> {
 protected:
  void check(bool has_acc) {
    const Shape shape = GetParam();
    InputSpec acc{.type = {DType::f32, {shape.dim(-1)}}, .absent = !has_acc};
    check_op_case(reduce_ops(), OpCase{.name = to_string(shape) + (has_acc ? " onto" : ""),
                                       .op = "sum_leading",
                                       .inputs = {{.type = {DType::f32, shape}}, acc},
                                       .reference = sum_leading,
                                       .tolerance = 2e-5,
                                       .check_gradient = false,
                                       .flops = static_cast<double>(shape.elements())});
  }
};

TEST_P(SumLeading, Fresh) { check(false); }
TEST_P(SumLeading, OntoAccumulator) { check(true); }

INSTANTIATE_TEST_SUITE_P(All, SumLeading,
                         ::testing::Values(Shape{1}, Shape{7}, Shape{1, 33}, Shape{5, 1}, Shape{3, 2, 19},
                                           Shape{64, 28, 28, 5}, Shape{257, 300}));

TEST(SumLeadingOrder, DoesNotHangOnThreads) {
  const std::optional<ValueType> types[] = {ValueType{DType::f32, {4099, 37}}};
  std::vector<float> x(4099 * 37);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  std::vector<float> sums[2] = {std::vector<float>(37), std::vector<float>(37)};
  for (int t = 0; t < 2; ++t) {
    const Attributes none;
    const KernelChoice choice =
        reduce_ops().choose_kernel("sum_leading", KernelDevice::cpu, {{none, types}, 1 + 2 * t});
    std::vector<std::byte> workspace(static_cast<size_t>(choice.kernel->workspace_bytes()) + 64);
    const void* inputs[] = {x.data(), nullptr};
    void* outputs[] = {sums[t].data()};
    choice.kernel->run({inputs, outputs, workspace.data()});
  }
  EXPECT_EQ(sums[0], sums[1]);
}

class SquaredNorm : public ::testing::TestWithParam<int64_t> {};

TEST_P(SquaredNorm, MatchesReference) {
  const auto reference = [](const Attributes&, const std::vector<Reference>& inputs) {
    double sum = 0;
    for (const double x : inputs[0].data) sum += x * x;
    return std::vector<Reference>{{{DType::f32, {1}}, {sum}}};
  };
  check_op_case(reduce_ops(), OpCase{.name = std::to_string(GetParam()),
                                     .op = "squared_norm",
                                     .inputs = {{.type = {DType::f32, {GetParam()}}}},
                                     .reference = reference,
                                     .tolerance = 1e-7,
                                     .check_gradient = false,
                                     .flops = 2.0 * static_cast<double>(GetParam())});
}

INSTANTIATE_TEST_SUITE_P(All, SquaredNorm, ::testing::Values(1, 31, 32, 33, 32768, 100003));

std::vector<Reference> clip_scale(const Attributes& attributes, const std::vector<Reference>& inputs) {
  double sum = 0;
  for (const Reference& n : inputs) sum += n.data[0];
  const ValueType scalar{DType::f32, {1}};
  return {{scalar, {std::isnan(sum) ? sum : std::min(1.0, attributes.real("max_norm") / std::sqrt(sum))}},
          {scalar, {std::sqrt(sum)}}};
}

OpCase clip_case(double max_norm, std::vector<double> squares) {
  OpCase op_case{.name = "clip", .op = "clip_scale", .attributes = {{"max_norm", max_norm}}, .reference = clip_scale};
  for (const double square : squares) op_case.inputs.push_back({.type = {DType::f32, {1}}, .values = {square}});
  op_case.check_gradient = false;
  return op_case;
}

TEST(ClipScale, ScalesLargeNormsAndLeavesSmallOnes) {
  check_op_case(reduce_ops(), clip_case(1.0, {9.0, 16.0}));
  check_op_case(reduce_ops(), clip_case(5.5, {9.0, 16.0}));
  check_op_case(reduce_ops(), clip_case(1.0, {0.0}));
}

TEST(ClipScale, NaNNormGivesNaNScale) { check_op_case(reduce_ops(), clip_case(1.0, {9.0, std::nan("")})); }

TEST(ClipScale, RefusesAMaxNormOfZero) {
  const std::optional<ValueType> types[] = {ValueType{DType::f32, {1}}};
  const Attributes attributes{{"max_norm", 0.0}};
  EXPECT_THROW(reduce_ops().table().find("clip_scale").outputs({attributes, types}), Error);
}

}  // namespace
}  // namespace tidemark::ops
