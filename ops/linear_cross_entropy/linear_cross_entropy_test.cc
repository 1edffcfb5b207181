#include "ops/linear_cross_entropy/linear_cross_entropy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "base/error.h"
#include "ops/add/add.h"
#include "ops/testing/op_case.h"

namespace tidemark::ops {
namespace {

using testing::InputSpec;
using testing::OpCase;
using testing::Reference;

OpSet cross_entropy_ops() {
  OpSet ops;
  ops.add(add_op());
  ops.add(add_into_op());  // for accumulators
  ops.add(linear_cross_entropy_op());
  ops.add(linear_cross_entropy_grad_op());
  return ops;
}

struct Outcome {
  double loss = 0;
  std::vector<double> dx, dw;
};

// Probabilities of one sample over the real classes.
std::vector<double> softmax(const double* x, const double* w, int64_t classes, int64_t channels) {
  std::vector<double> p(classes);
  for (int64_t v = 0; v < classes; ++v) {
    for (int64_t c = 0; c < channels; ++c) p[v] += x[c] * w[v * channels + c];
  }
  const double most = *std::max_element(p.begin(), p.end());
  double sum = 0;
  for (double& value : p) sum += value = std::exp(value - most);
  for (double& value : p) value /= sum;
  return p;
}

Outcome reference(const Attributes& attributes, const std::vector<Reference>& in) {
  const int64_t channels = in[1].type.shape[1], samples = in[2].type.shape.elements();
  const int64_t classes = attributes.integer_or("classes", in[1].type.shape[0]);
  Outcome out{0, std::vector<double>(in[0].data.size()), std::vector<double>(in[1].data.size())};
  if (in.size() > 4) out.dw = in[4].data;
  for (int64_t i = 0; i < samples; ++i) {
    const int64_t target = static_cast<int64_t>(in[2].data[i]);
    if (target < 0) continue;
    const double* x = &in[0].data[i * channels];
    std::vector<double> p = softmax(x, in[1].data.data(), classes, channels);
    out.loss -= in[3].data[0] * std::log(p[target]);
    p[target] -= 1;
    for (int64_t v = 0; v < classes; ++v) {
      for (int64_t c = 0; c < channels; ++c) {
        out.dx[i * channels + c] += in[3].data[0] * p[v] * in[1].data[v * channels + c];
        out.dw[v * channels + c] += in[3].data[0] * p[v] * x[c];
      }
    }
  }
  return out;
}

struct Case {
  std::string name;
  Shape leading;  // of the samples
  int64_t channels, vocabulary, classes;
  int64_t chunk_rows;   // 0: default
  bool ignored = true;  // some targets are -1
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::vector<double> targets_of(const Case& c) {
  std::vector<double> targets(c.leading.elements());
  for (size_t i = 0; i < targets.size(); ++i) {
    const bool ignored = c.ignored && i % 3 == 1;
    targets[i] = ignored ? -1 : static_cast<double>((i * 7919 + c.classes - 1) % c.classes);
  }
  return targets;
}

OpCase forward_case(const Case& c) {
  std::vector<int64_t> x = c.leading.dims();
  x.push_back(c.channels);
  Attributes attributes{{"classes", c.classes}};
  if (c.chunk_rows > 0) attributes.set("chunk_rows", c.chunk_rows);
  const double samples = static_cast<double>(c.leading.elements());
  return {.name = c.name,
          .op = "linear_cross_entropy",
          .attributes = attributes,
          .inputs = {{.type = {DType::f32, Shape(x)}},
                     {.type = {DType::f32, {c.vocabulary, c.channels}}, .stddev = 0.5},
                     {.type = {DType::i32, c.leading}, .values = targets_of(c)},
                     {.type = {DType::f32, {1}}, .values = {1 / samples}, .differentiable = false}},
          .reference =
              [](const Attributes& a, const std::vector<Reference>& in) {
                return std::vector<Reference>{{{DType::f32, {1}}, {reference(a, in).loss}}};
              },
          .is_loss = true,
          .flops = samples * c.classes * (2 * c.channels + 4)};
}

OpCase gradient_case(const Case& c, bool accumulate) {
  OpCase op_case = forward_case(c);
  op_case.name += accumulate ? ", gradients onto a sum" : ", gradients";
  op_case.op = "linear_cross_entropy_grad";
  op_case.inputs.push_back({.type = op_case.inputs[1].type, .absent = !accumulate});
  op_case.reference = [](const Attributes& a, const std::vector<Reference>& in) {
    Outcome out = reference(a, in[4].data.empty() ? std::vector<Reference>(in.begin(), in.begin() + 4) : in);
    return std::vector<Reference>{{{DType::f32, {1}}, {out.loss}}, {in[0].type, out.dx}, {in[1].type, out.dw}};
  };
  op_case.check_gradient = false;
  op_case.flops = c.leading.elements() * c.classes * (6.0 * c.channels + 7);
  return op_case;
}

class LinearCrossEntropy : public ::testing::TestWithParam<Case> {};

TEST_P(LinearCrossEntropy, LossMatchesReferenceAndHasItsGradient) {
  check_op_case(cross_entropy_ops(), forward_case(GetParam()));
}
TEST_P(LinearCrossEntropy, GradientsMatchReference) {
  check_op_case(cross_entropy_ops(), gradient_case(GetParam(), false));
}
TEST_P(LinearCrossEntropy, GradientsAreAddedOntoASum) {
  check_op_case(cross_entropy_ops(), gradient_case(GetParam(), true));
}

INSTANTIATE_TEST_SUITE_P(
    All, LinearCrossEntropy,
    ::testing::Values(Case{"one sample", {1}, 5, 7, 7, 0, false}, Case{"all padding but one class", {3}, 4, 9, 1, 0},
                      Case{"odd sizes", {2, 9}, 33, 131, 131, 0}, Case{"padded vocabulary", {4, 5}, 16, 128, 97, 0},
                      Case{"chunks with a remainder", {23}, 65, 261, 259, 7},
                      Case{"several panels", {1, 71}, 70, 149, 140, 66}, Case{"chunks of one", {5}, 12, 40, 40, 1}),
    [](const auto& info) { return "Case" + std::to_string(info.index); });

TEST(LinearCrossEntropy, AllTargetsIgnoredGiveNoLossAndNoGradient) {
  const Case c{"all ignored", {6}, 9, 20, 20, 4};
  OpCase op_case = gradient_case(c, false);
  op_case.inputs[2].values.assign(6, -1);
  check_op_case(cross_entropy_ops(), op_case);
}

TEST(LinearCrossEntropy, TheLossGoesOnFromTheOneBefore) {
  const Case c{"loss before", {2, 9}, 33, 131, 131, 0};
  const InputSpec before{.type = {DType::f32, {1}}, .values = {1.75}, .differentiable = false};
  for (OpCase op_case : {forward_case(c), gradient_case(c, false), gradient_case(c, true)}) {
    op_case.inputs.push_back(before);
    op_case.reference = [plain = op_case.reference](const Attributes& a, const std::vector<Reference>& in) {
      std::vector<Reference> outputs = plain(a, {in.begin(), in.end() - 1});
      outputs[0].data[0] += in.back().data[0];
      return outputs;
    };
    check_op_case(cross_entropy_ops(), op_case);
  }
}

TEST(LinearCrossEntropy, LargeLogitsDoNotOverflow) {
  const Case c{"large logits", {8}, 16, 150, 150, 0, false};
  OpCase op_case = gradient_case(c, false);
  op_case.inputs[1].stddev = 40;
  op_case.tolerance = 2e-4;
  check_op_case(cross_entropy_ops(), op_case);
}

TEST(LinearCrossEntropy, WorkspaceOfGpt2HoldsOneChunkOfLogits) {
  const OpSet ops = cross_entropy_ops();
  const std::optional<ValueType> types[] = {ValueType{DType::f32, {4, 64, 768}}, ValueType{DType::f32, {50304, 768}},
                                            ValueType{DType::i32, {4, 64}}, ValueType{DType::f32, {1}}};
  const Attributes attributes{{"classes", int64_t{50257}}};
  const auto grad = ops.choose_kernel("linear_cross_entropy_grad", KernelDevice::cpu, {{attributes, types}, 2});
  EXPECT_EQ(default_chunk_rows(50304), 128);
  EXPECT_EQ(default_chunk_rows(256), 128);
  EXPECT_EQ(default_chunk_rows(10'000'000), 16);
  EXPECT_GT(grad.kernel->workspace_bytes(), 128 * 50257 * 4);
  EXPECT_LT(grad.kernel->workspace_bytes(), 27'000'000);
  const auto loss = ops.choose_kernel("linear_cross_entropy", KernelDevice::cpu, {{attributes, types}, 2});
  EXPECT_LT(loss.kernel->workspace_bytes(), 1'000'000);
}

TEST(LinearCrossEntropy, RefusesOperandsThatDoNotFit) {
  const OpSet ops = cross_entropy_ops();
  const Attributes attributes{{"classes", int64_t{11}}};
  const auto message = [&](Shape weight, Shape targets) -> std::string {
    const std::optional<ValueType> types[] = {ValueType{DType::f32, {2, 3, 4}}, ValueType{DType::f32, weight},
                                              ValueType{DType::i32, targets}, ValueType{DType::f32, {1}}};
    try {
      ops.table().find("linear_cross_entropy").outputs({attributes, types});
    } catch (const Error& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_EQ(message({12, 4}, {2, 3}), "accepted");
  EXPECT_EQ(message({12, 5}, {2, 3}),
            "op 'linear_cross_entropy', operand 'w': wanted f32[vocabulary,4], given f32[12,5]");
  EXPECT_EQ(message({12, 4}, {3, 2}), "op 'linear_cross_entropy', operand 'targets': wanted i32[2,3], given i32[3,2]");
  EXPECT_EQ(message({10, 4}, {2, 3}), "op 'linear_cross_entropy', attribute 'classes': wanted 1 to 10, given 11");
}

}  // namespace
}  // namespace tidemark::ops
