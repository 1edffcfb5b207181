#include "ops/softmax_cross_entropy/softmax_cross_entropy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "graph/autodiff.h"
#include "ops/testing/op_case.h"

namespace tidemark::ops {
namespace {

using testing::OpCase;
using testing::Reference;

OpSet loss_ops() {
  OpSet ops;
  ops.add(softmax_cross_entropy_op());
  ops.add(softmax_cross_entropy_grad_op());
  return ops;
}

std::vector<double> softmax(const Reference& logits, size_t row, size_t classes) {
  const auto begin = logits.data.begin() + static_cast<long>(row * classes);
  std::vector<double> p(begin, begin + static_cast<long>(classes));
  const double largest = *std::max_element(p.begin(), p.end());
  double sum = 0;
  for (double& x : p) sum += x = std::exp(x - largest);
  for (double& x : p) x /= sum;
  return p;
}

std::vector<Reference> loss(const Attributes&, const std::vector<Reference>& inputs) {
  const size_t classes = static_cast<size_t>(inputs[0].type.shape.dim(-1));
  Reference sum{{DType::f32, {1}}, {0.0}}, correct = sum;
  for (size_t row = 0; row < inputs[1].data.size(); ++row) {
    if (inputs[1].data[row] < 0) continue;
    const size_t label = static_cast<size_t>(inputs[1].data[row]);
    const std::vector<double> p = softmax(inputs[0], row, classes);
    sum.data[0] -= inputs[2].data[0] * std::log(p[label]);
    correct.data[0] += std::max_element(p.begin(), p.end()) == p.begin() + static_cast<long>(label);
  }
  return {sum, correct};
}

std::vector<Reference> loss_gradient(const Attributes&, const std::vector<Reference>& inputs) {
  const size_t classes = static_cast<size_t>(inputs[0].type.shape.dim(-1));
  Reference gradient = inputs[0];
  for (size_t row = 0; row < inputs[1].data.size(); ++row) {
    const std::vector<double> p = softmax(inputs[0], row, classes);
    for (size_t k = 0; k < classes; ++k) {
      const double one_hot = static_cast<double>(k) == inputs[1].data[row];
      gradient.data[row * classes + k] = inputs[1].data[row] < 0 ? 0 : inputs[2].data[0] * (p[k] - one_hot);
    }
  }
  return {gradient};
}

OpCase loss_case(Shape logits, double stddev = 2.0) {
  std::vector<int64_t> rows = logits.dims();
  rows.pop_back();
  OpCase op_case{.name = to_string(logits), .op = "softmax_cross_entropy", .reference = loss, .is_loss = true};
  op_case.flops = 4.0 * static_cast<double>(logits.elements());
  op_case.inputs = {{.type = {DType::f32, logits}, .stddev = stddev},
                    {.type = {DType::i32, Shape(rows)}, .low = -1, .high = logits.dim(-1)},
                    {.type = {DType::f32, {1}}, .values = {0.125}, .differentiable = false}};
  return op_case;
}

OpCase gradient_case(OpCase op_case) {
  op_case.op = "softmax_cross_entropy_grad";
  op_case.reference = loss_gradient;
  op_case.tolerance = 1e-6;
  op_case.check_gradient = false;
  return op_case;
}

TEST(SoftmaxCrossEntropy, MatchesReference) {
  for (const Shape& logits : {Shape{1, 2}, Shape{3, 10}, Shape{64, 10}, Shape{2, 3, 5, 7}, Shape{130, 33}}) {
    check_op_case(loss_ops(), loss_case(logits));
    check_op_case(loss_ops(), gradient_case(loss_case(logits)));
  }
}

TEST(SoftmaxCrossEntropy, TheLossGoesOnFromTheOneBefore) {
  OpCase op_case = loss_case({130, 33});
  op_case.inputs.push_back({.type = {DType::f32, {1}}, .values = {1.75}, .differentiable = false});
  op_case.reference = [](const Attributes& attributes, const std::vector<Reference>& inputs) {
    std::vector<Reference> outputs = loss(attributes, inputs);
    outputs[0].data[0] += inputs[3].data[0];
    return outputs;
  };
  check_op_case(loss_ops(), op_case);
}

TEST(SoftmaxCrossEntropy, OneClassCostsNothing) {
  OpCase op_case = loss_case({3, 1});
  op_case.check_gradient = false;
  check_op_case(loss_ops(), op_case);
}

TEST(SoftmaxCrossEntropy, LargeLogitsStayFinite) {
  OpCase op_case = loss_case({9, 5}, 300.0);
  op_case.check_gradient = false;
  check_op_case(loss_ops(), op_case);
  check_op_case(loss_ops(), gradient_case(op_case));
}

TEST(SoftmaxCrossEntropy, RowsLeftOutCountNowhere) {
  OpCase op_case = loss_case({4, 3});
  op_case.inputs[1].values = {-1, -1, -1, -1};
  op_case.check_gradient = false;
  check_op_case(loss_ops(), op_case);
  check_op_case(loss_ops(), gradient_case(op_case));
}

TEST(SoftmaxCrossEntropy, OfEqualLogitsTheFirstCounts) {
  OpCase op_case = loss_case({2, 3});
  op_case.inputs[0].values = {5, 5, 1, 5, 5, 1};
  op_case.inputs[1].values = {0, 1};
  check_op_case(loss_ops(), op_case);
}

TEST(SoftmaxCrossEntropy, HasNoGradientWhereItIsNotTheLoss) {
  OpCase op_case = loss_case({2, 3});
  op_case.is_loss = false;
  const std::vector<std::string> faults = op_case_faults(loss_ops(), op_case);
  ASSERT_FALSE(faults.empty());
  EXPECT_NE(faults[0].find("only where its output is the loss itself"), std::string::npos) << faults[0];
}

}  // namespace
}  // namespace tidemark::ops
