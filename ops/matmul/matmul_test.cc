#include "ops/matmul/matmul.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "ops/activation/activation.h"
#include "ops/reduce/reduce.h"
#include "ops/testing/op_case.h"

namespace tidemark::ops {
namespace {

using testing::InputSpec;
using testing::OpCase;
using testing::Reference;

OpSet matmul_ops() {
  OpSet ops;
  ops.add(gelu_op());
  ops.add(gelu_grad_op());
  ops.add(matmul_op());
  ops.add(matmul_grad_input_op());
  ops.add(matmul_grad_weight_op());
  ops.add(relu_grad_op());
  ops.add(sum_leading_op());
  return ops;
}

double activate(const std::string& name, double z) {
  if (name == "relu") return std::max(z, 0.0);
  if (name == "gelu") return 0.5 * z * (1 + std::tanh(std::sqrt(2 / M_PI) * (z + 0.044715 * z * z * z)));
  return z;
}

// The size of the matrices, which the shapes of some operands do not tell alone.
struct Size {
  int64_t rows, in, out;
};

std::vector<double> product(int64_t m, int64_t n, int64_t k, auto a, auto b) {
  std::vector<double> c(static_cast<size_t>(m * n));
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t p = 0; p < k; ++p) c[i * n + j] += a(i, p) * b(p, j);
    }
  }
  return c;
}

Reference rows_reference(const Shape& shape, std::vector<double> data) {
  return {{DType::f32, shape}, std::move(data)};
}

std::vector<Reference> matmul_reference(const Attributes& attributes, const std::vector<Reference>& in, Size s,
                                        const Shape& y_shape) {
  const bool t = attributes.boolean_or("transpose_w", true);
  const std::vector<double>&x = in[0].data, &w = in[1].data;
  std::vector<double> pre = product(
      s.rows, s.out, s.in, [&](int64_t i, int64_t p) { return x[i * s.in + p]; },
      [&](int64_t p, int64_t j) { return t ? w[j * s.in + p] : w[p * s.out + j]; });
  for (size_t i = 0; i < pre.size() && in.size() > 2 && !in[2].data.empty(); ++i) pre[i] += in[2].data[i % s.out];
  const std::string activation = attributes.text_or("activation", "none");
  std::vector<double> y = pre;
  for (double& value : y) value = activate(activation, value);
  std::vector<Reference> outputs = {rows_reference(y_shape, y)};
  if (activation == "gelu") outputs.push_back(rows_reference(y_shape, pre));
  return outputs;
}

OpCase matmul_case(const Shape& x, const Shape& y, Size s, bool transpose_w, const std::string& activation, bool bias) {
  const Shape w = transpose_w ? Shape{s.out, s.in} : Shape{s.in, s.out};
  OpCase op_case{.name = "matmul " + to_string(x) + " x " + to_string(w) + " " + activation,
                 .op = "matmul",
                 .attributes = {{"transpose_w", transpose_w}, {"activation", activation}},
                 .inputs = {{.type = {DType::f32, x}}, {.type = {DType::f32, w}, .stddev = 0.3}},
                 .reference = [s, y](const Attributes& a, const auto& in) { return matmul_reference(a, in, s, y); }};
  if (bias) op_case.inputs.push_back({.type = {DType::f32, {s.out}}});
  const double pointwise = (bias ? 1 : 0) + (activation == "gelu" ? 8 : activation == "relu" ? 1 : 0);
  op_case.flops = static_cast<double>(s.rows * s.out) * (2.0 * static_cast<double>(s.in) + pointwise);
  return op_case;
}

TEST(Matmul, BothLayoutsWithAndWithoutBias) {
  for (bool transpose_w : {true, false}) {
    for (bool bias : {true, false}) {
      check_op_case(matmul_ops(), matmul_case({3, 7, 19}, {3, 7, 33}, {21, 19, 33}, transpose_w, "none", bias));
    }
  }
}

TEST(Matmul, Activations) {
  for (const char* activation : {"relu", "gelu"}) {
    for (bool bias : {true, false}) {
      check_op_case(matmul_ops(), matmul_case({11, 18}, {11, 37}, {11, 18, 37}, true, activation, bias));
    }
  }
}

// The product of a gelu runs on the gelu's own kernel, also where a plain product has a faster one.
TEST(Matmul, PartsOfAGeluAreOnItsKernel) {
  const std::optional<ValueType> types[] = {ValueType{DType::f32, {128, 1024}}, ValueType{DType::f32, {1024, 96}}};
  const auto kernel_of = [&](const char* activation) {
    const Attributes attributes{{"transpose_w", false}, {"activation", std::string(activation)}};
    return matmul_ops().choose_kernel("matmul", KernelDevice::cpu, {{attributes, types}, 1}).name;
  };
  EXPECT_EQ(kernel_of("none"), "cpu:matmul_tiles");
  EXPECT_EQ(kernel_of("gelu"), "onednn:matmul");
  EXPECT_EQ(kernel_of("pre"), "onednn:matmul");
  OpCase op_case = matmul_case({128, 1024}, {128, 96}, {128, 1024, 96}, false, "gelu", false);
  op_case.check_gradient = false;
  op_case.tolerance = 1e-4;
  check_op_case(matmul_ops(), op_case);
}

TEST(Matmul, OneRowOneColumnOneTerm) {
  for (bool transpose_w : {true, false}) {
    check_op_case(matmul_ops(), matmul_case({1, 40}, {1, 3}, {1, 40, 3}, transpose_w, "gelu", true));
    check_op_case(matmul_ops(), matmul_case({5, 20}, {5, 1}, {5, 20, 1}, transpose_w, "none", true));
    check_op_case(matmul_ops(), matmul_case({6, 1}, {6, 4}, {6, 1, 4}, transpose_w, "none", false));
    check_op_case(matmul_ops(), matmul_case({17}, {4}, {1, 17, 4}, transpose_w, "none", true));
  }
}

TEST(Matmul, TrailingDimsOfAnImageAreOneRow) {
  check_op_case(matmul_ops(), matmul_case({2, 5, 4, 1}, {2, 6}, {2, 20, 6}, true, "relu", true));
  // The fewest dims that fit: the last dim alone here.
  check_op_case(matmul_ops(), matmul_case({2, 1, 20}, {2, 1, 6}, {2, 20, 6}, true, "none", true));
}

TEST(Matmul, SizesOfWholeBlocks) {
  OpCase op_case = matmul_case({64, 128}, {64, 192}, {64, 128, 192}, true, "gelu", true);
  op_case.check_gradient = false;  // finite differences over 24 thousand weights take too long
  check_op_case(matmul_ops(), op_case);
}

// acc + dz W^T and acc + x^T dz, with the accumulator present and absent.
OpCase grad_input_case(Size s, bool transpose_w, bool accumulate) {
  const Shape w = transpose_w ? Shape{s.out, s.in} : Shape{s.in, s.out};
  const Shape x{s.rows, s.in};
  return {.name = "matmul_grad_input",
          .op = "matmul_grad_input",
          .attributes = {{"transpose_w", transpose_w}, {"x_shape", x.dims()}},
          .inputs = {{.type = {DType::f32, {s.rows, s.out}}},
                     {.type = {DType::f32, w}},
                     {.type = {DType::f32, x}, .absent = !accumulate}},
          .reference =
              [=](const Attributes&, const std::vector<Reference>& in) {
                const std::vector<double>&dz = in[0].data, &w = in[1].data;
                auto dx = product(
                    s.rows, s.in, s.out, [&](int64_t i, int64_t p) { return dz[i * s.out + p]; },
                    [&](int64_t p, int64_t j) { return transpose_w ? w[p * s.in + j] : w[j * s.out + p]; });
                for (size_t i = 0; accumulate && i < dx.size(); ++i) dx[i] += in[2].data[i];
                return std::vector<Reference>{rows_reference(x, dx)};
              },
          .tolerance = 1e-4,  // sums of up to 1024 terms in float
          .check_gradient = false,
          .flops = 2.0 * static_cast<double>(s.rows * s.in * s.out)};
}

OpCase grad_weight_case(Size s, bool transpose_w, bool accumulate) {
  const Shape w = transpose_w ? Shape{s.out, s.in} : Shape{s.in, s.out};
  return {.name = "matmul_grad_weight",
          .op = "matmul_grad_weight",
          .attributes = {{"transpose_w", transpose_w}},
          .inputs = {{.type = {DType::f32, {s.rows, s.in}}},
                     {.type = {DType::f32, {s.rows, s.out}}},
                     {.type = {DType::f32, w}, .absent = !accumulate}},
          .reference =
              [=](const Attributes&, const std::vector<Reference>& in) {
                const std::vector<double>&x = in[0].data, &dz = in[1].data;
                auto x_at = [&](int64_t p, int64_t i) { return x[p * s.in + i]; };
                auto dz_at = [&](int64_t p, int64_t j) { return dz[p * s.out + j]; };
                auto dw = product(
                    w[0], w[1], s.rows, [&](int64_t i, int64_t p) { return transpose_w ? dz_at(p, i) : x_at(p, i); },
                    [&](int64_t p, int64_t j) { return transpose_w ? x_at(p, j) : dz_at(p, j); });
                for (size_t i = 0; accumulate && i < dw.size(); ++i) dw[i] += in[2].data[i];
                return std::vector<Reference>{rows_reference(w, dw)};
              },
          .tolerance = 1e-4,  // sums of up to 1024 terms in float
          .check_gradient = false,
          .flops = 2.0 * static_cast<double>(s.rows * s.in * s.out)};
}

TEST(MatmulGradients, WithAndWithoutAccumulator) {
  for (Size s : {Size{21, 19, 33}, Size{1, 16, 5}, Size{70, 1, 1}, Size{9, 130, 1024}}) {
    for (bool transpose_w : {true, false}) {
      for (bool accumulate : {true, false}) {
        check_op_case(matmul_ops(), grad_input_case(s, transpose_w, accumulate));
        check_op_case(matmul_ops(), grad_weight_case(s, transpose_w, accumulate));
      }
    }
  }
}

// Rows of whole pages and many of them: the operand is packed into the workspace first.
TEST(MatmulGradients, PackedOperand) {
  OpCase op_case = grad_weight_case({5, 1024, 512}, true, true);
  op_case.threads = {2};
  check_op_case(matmul_ops(), op_case);
}

// Sizes that fill no tile, with sums of more than one block.
TEST(MatmulTiles, TailsOfRowsColumnsAndTerms) {
  for (bool bias : {true, false}) {
    OpCase op_case = matmul_case({131, 1030}, {131, 190}, {131, 1030, 190}, false, "none", bias);
    op_case.check_gradient = false;
    op_case.tolerance = 1e-4;
    check_op_case(matmul_ops(), op_case);
  }
  for (bool accumulate : {true, false}) {
    check_op_case(matmul_ops(), grad_input_case({131, 190, 1030}, true, accumulate));
  }
  for (bool transpose_w : {true, false}) {
    check_op_case(matmul_ops(), grad_weight_case({300, 190, 67}, transpose_w, true));
    check_op_case(matmul_ops(), grad_weight_case({5, 67, 190}, transpose_w, true));
  }
}

std::string chosen(const char* op, const Attributes& attributes, std::vector<std::optional<ValueType>> types,
                   int threads = 2) {
  const KernelChoice choice =
      matmul_ops().choose_kernel(op, KernelDevice::cpu, KernelRequest{{attributes, types}, threads});
  return choice.name + (choice.refused.empty() ? "" : ": " + choice.refused[0].why);
}

TEST(MatmulTiles, ChosenWhereTheyAreFaster) {
  const auto f32 = [](int64_t rows, int64_t columns) { return ValueType{DType::f32, {rows, columns}}; };
  const Attributes plain = {{"transpose_w", false}}, transposed = {{"transpose_w", true}};
  EXPECT_EQ(chosen("matmul", plain, {f32(256, 3072), f32(3072, 768)}), "cpu:matmul_tiles");
  EXPECT_EQ(chosen("matmul", plain, {f32(64, 3072), f32(3072, 768)}), "onednn:matmul: oneDNN is faster below 128 rows");
  EXPECT_EQ(chosen("matmul", plain, {f32(256, 768), f32(768, 2304)}),
            "onednn:matmul: oneDNN is as fast for sums of fewer than 1024 terms");
  EXPECT_EQ(chosen("matmul", transposed, {f32(256, 3072), f32(768, 3072)}),
            "onednn:matmul: oneDNN is faster where the weight is [N,K]");

  Attributes backward = transposed;
  backward.set("x_shape", Shape{256, 768}.dims());
  EXPECT_EQ(chosen("matmul_grad_input", backward, {f32(256, 2304), f32(2304, 768)}), "cpu:matmul_grad_input_tiles");
  EXPECT_EQ(chosen("matmul_grad_weight", transposed, {f32(256, 768), f32(256, 768), f32(768, 768)}),
            "cpu:matmul_grad_weight_tiles");
  EXPECT_EQ(chosen("matmul_grad_weight", transposed, {f32(256, 768), f32(256, 768)}),
            "onednn:matmul_grad_weight: oneDNN is faster where nothing is accumulated");
  const std::string many = chosen("matmul_grad_weight", transposed, {f32(256, 768), f32(256, 768), f32(768, 768)}, 64);
  EXPECT_NE(many.find("columns leave some of 64 threads idle"), std::string::npos) << many;
}

void expect_refused(const char* op, const Attributes& attributes, std::vector<std::optional<ValueType>> types,
                    const char* message) {
  try {
    matmul_ops().table().find(op).outputs({attributes, types});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), message);
  }
}

TEST(Matmul, GradientOfThePreActivationIsRefused) {
  OpCase op_case = matmul_case({2, 3}, {2, 4}, {2, 3, 4}, true, "gelu", false);
  op_case.gradient_outputs = {0, 1};
  const std::vector<std::string> faults = op_case_faults(matmul_ops(), op_case);
  ASSERT_FALSE(faults.empty());
  EXPECT_NE(faults[0].find("its output 'pre' has no gradient"), std::string::npos) << faults[0];
}

TEST(Matmul, RefusesWhatDoesNotFit) {
  const auto f32 = [](Shape shape) { return ValueType{DType::f32, std::move(shape)}; };
  expect_refused("matmul", {}, {f32({4, 5}), f32({3, 6})},
                 "op 'matmul', operand 'x': wanted trailing dims whose product is 6, given [4,5]");
  expect_refused("matmul", {}, {f32({4, 5}), f32({5})}, "op 'matmul', operand 'w': wanted [N,K], given [5]");
  expect_refused("matmul", {}, {f32({4, 5}), f32({3, 5}), f32({5})},
                 "op 'matmul', operand 'bias': wanted shape [3], given f32[5]");
  expect_refused("matmul", {{"activation", std::string("swish")}}, {f32({4, 5}), f32({3, 5})},
                 "op 'matmul': activation 'swish' is not one of none, relu, gelu");
  expect_refused("matmul_grad_weight", {}, {f32({4, 5}), f32({3, 5})},
                 "op 'matmul_grad_weight', operand 'dz': wanted the leading dims of x [4,5] and N, given [3,5]");
}

}  // namespace
}  // namespace tidemark::ops
