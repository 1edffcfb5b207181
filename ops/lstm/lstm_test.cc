#include "ops/lstm/lstm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numeric>
#include <ostream>

#include "base/error.h"
#include "ops/add/add.h"
#include "ops/testing/op_case.h"

namespace tidemark::ops {
namespace {

using testing::InputSpec;
using testing::OpCase;
using testing::Reference;
using Doubles = std::vector<double>;

OpSet lstm_ops() {
  OpSet ops;
  ops.add(add_op());
  ops.add(add_into_op());  // for accumulators
  ops.add(lstm_op());
  ops.add(lstm_grad_op());
  ops.add(lstm_grad_weight_op());
  ops.add(packed_row_ids_op());
  return ops;
}

struct Case {
  std::string name;
  int64_t hidden;
  std::vector<int64_t> lengths;
  double stddev = 1;

  int64_t batch() const { return static_cast<int64_t>(lengths.size()); }
  int64_t rows() const { return std::accumulate(lengths.begin(), lengths.end(), int64_t{0}); }
  ValueType of_rows(int64_t columns) const { return {DType::f32, {rows(), columns}}; }
  ValueType weight() const { return {DType::f32, {4 * hidden, hidden}}; }
  InputSpec length_input() const {
    return {.type = {DType::i32, {batch()}}, .values = Doubles(lengths.begin(), lengths.end())};
  }
  double weight_deviation() const { return stddev / std::sqrt(static_cast<double>(hidden)); }
  // Row of a sample's step: counted the long way.
  int64_t row(int64_t sample, int64_t step) const {
    int64_t row = sample;
    for (int64_t t = 0; t < step; ++t) {
      for (const int64_t length : lengths) row += length > t;
    }
    return row;
  }
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct State {
  Doubles h, gates, cells;
};

// Sample by sample, step by step, unit by unit.
State forward(const Case& c, const Doubles& x, const Doubles& w) {
  const int64_t n = c.hidden;
  State s{Doubles(c.rows() * n), Doubles(c.rows() * 4 * n), Doubles(c.rows() * n)};
  for (int64_t i = 0; i < c.batch(); ++i) {
    for (int64_t t = 0; t < c.lengths[i]; ++t) {
      const int64_t row = c.row(i, t), before = t > 0 ? c.row(i, t - 1) : -1;
      for (int64_t g = 0; g < 4 * n; ++g) {
        double z = x[row * 4 * n + g];
        for (int64_t k = 0; before >= 0 && k < n; ++k) z += s.h[before * n + k] * w[g * n + k];
        s.gates[row * 4 * n + g] = g / n == 2 ? std::tanh(z) : sigmoid(z);
      }
      const double* gate = &s.gates[row * 4 * n];
      for (int64_t j = 0; j < n; ++j) {
        const double c_before = before >= 0 ? s.cells[before * n + j] : 0;
        s.cells[row * n + j] = gate[n + j] * c_before + gate[j] * gate[2 * n + j];
        s.h[row * n + j] = gate[3 * n + j] * std::tanh(s.cells[row * n + j]);
      }
    }
  }
  return s;
}

// The chain rule from the last step of each sample to its first.
Doubles backward(const Case& c, const Doubles& dh, const Doubles& gates, const Doubles& cells, const Doubles& w) {
  const int64_t n = c.hidden;
  Doubles dx(c.rows() * 4 * n);
  for (int64_t i = 0; i < c.batch(); ++i) {
    Doubles carry_h(n), carry_c(n);
    for (int64_t t = c.lengths[i] - 1; t >= 0; --t) {
      const int64_t row = c.row(i, t);
      const double* gate = &gates[row * 4 * n];
      double* d = &dx[row * 4 * n];
      for (int64_t j = 0; j < n; ++j) {
        const double in = gate[j], forget = gate[n + j], candidate = gate[2 * n + j], out = gate[3 * n + j];
        const double squashed = std::tanh(cells[row * n + j]), d_h = dh[row * n + j] + carry_h[j];
        const double d_c = carry_c[j] + d_h * out * (1 - squashed * squashed);
        d[j] = d_c * candidate * in * (1 - in);
        d[n + j] = t > 0 ? d_c * cells[c.row(i, t - 1) * n + j] * forget * (1 - forget) : 0;
        d[2 * n + j] = d_c * in * (1 - candidate * candidate);
        d[3 * n + j] = d_h * squashed * out * (1 - out);
        carry_c[j] = d_c * forget;
      }
      for (int64_t k = 0; k < n; ++k) {
        carry_h[k] = 0;
        for (int64_t g = 0; g < 4 * n; ++g) carry_h[k] += d[g] * w[g * n + k];
      }
    }
  }
  return dx;
}

Doubles weight_gradient(const Case& c, const Doubles& h, const Doubles& dx, Doubles sum) {
  const int64_t n = c.hidden;
  sum.resize(4 * n * n);
  for (int64_t i = 0; i < c.batch(); ++i) {
    for (int64_t t = 1; t < c.lengths[i]; ++t) {
      for (int64_t g = 0; g < 4 * n; ++g) {
        for (int64_t k = 0; k < n; ++k) sum[g * n + k] += dx[c.row(i, t) * 4 * n + g] * h[c.row(i, t - 1) * n + k];
      }
    }
  }
  return sum;
}

class Lstm : public ::testing::TestWithParam<Case> {
 protected:
  const Case& c_ = GetParam();
  const double products_ = 8.0 * (c_.rows() - c_.batch()) * c_.hidden * c_.hidden;
  const InputSpec w_{.type = c_.weight(), .stddev = c_.weight_deviation()};
};

TEST_P(Lstm, MatchesReferenceAndHasItsGradient) {
  testing::check_op_case(lstm_ops(),
                         {.name = c_.name,
                          .op = "lstm",
                          .inputs = {{.type = c_.of_rows(4 * c_.hidden), .stddev = c_.stddev}, w_, c_.length_input()},
                          .reference =
                              [&](const Attributes&, const auto& in) {
                                const State s = forward(c_, in[0].data, in[1].data);
                                return std::vector<Reference>{{c_.of_rows(c_.hidden), s.h},
                                                              {c_.of_rows(4 * c_.hidden), s.gates},
                                                              {c_.of_rows(c_.hidden), s.cells}};
                              },
                          .tolerance = 3e-6,
                          .check_gradient = c_.rows() * c_.hidden <= 100,
                          .flops = products_ + 22.0 * c_.rows() * c_.hidden});
}

// Every element against the chain rule in double; the difference quotients above vouch for the reference.
TEST_P(Lstm, GradientMatchesReference) {
  const InputSpec open_gate{.type = c_.of_rows(4 * c_.hidden), .mean = 0.4, .stddev = 0.2};
  testing::check_op_case(
      lstm_ops(),
      {.name = c_.name,
       .op = "lstm_grad",
       .inputs = {{.type = c_.of_rows(c_.hidden)}, open_gate, {.type = c_.of_rows(c_.hidden)}, w_, c_.length_input()},
       .reference =
           [&](const Attributes&, const auto& in) {
             return std::vector<Reference>{
                 {c_.of_rows(4 * c_.hidden), backward(c_, in[0].data, in[1].data, in[2].data, in[3].data)}};
           },
       .tolerance = 1e-5,
       .check_gradient = false,
       .flops = products_ + 24.0 * c_.rows() * c_.hidden});
}

TEST_P(Lstm, WeightGradientMatchesReference) {
  for (const bool accumulates : {false, true}) {
    testing::check_op_case(
        lstm_ops(),
        {.name = c_.name,
         .op = "lstm_grad_weight",
         .inputs = {{.type = c_.of_rows(c_.hidden)},
                    {.type = c_.of_rows(4 * c_.hidden)},
                    c_.length_input(),
                    {.type = c_.weight(), .absent = !accumulates}},
         .reference =
             [&](const Attributes&, const auto& in) {
               return std::vector<Reference>{{c_.weight(), weight_gradient(c_, in[0].data, in[1].data, in[3].data)}};
             },
         .tolerance = 3e-5,
         .check_gradient = false,
         .flops = products_});
  }
}

std::vector<int64_t> falling(int64_t samples, int64_t longest) {
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < samples; ++i) lengths.push_back(longest - i * (longest - 1) / samples);
  return lengths;
}

INSTANTIATE_TEST_SUITE_P(All, Lstm,
                         ::testing::Values(Case{"one row", 1, {1}}, Case{"one sample", 3, {6}},
                                           Case{"length one", 5, {1, 1, 1}}, Case{"small", 4, {4, 2, 2, 1}},
                                           Case{"all equal", 2, {5, 5, 5, 5, 5, 5, 5}},
                                           Case{"odd width", 19, {9, 9, 5, 3, 3, 1, 1, 1}},
                                           Case{"falling", 17, falling(23, 12)}, Case{"wide", 70, falling(33, 7)},
                                           Case{"saturated", 16, {8, 7, 2}, 6},
                                           Case{"several chunks", 6, falling(150, 14)}),
                         [](const auto& info) { return "Case" + std::to_string(info.index); });

std::vector<std::byte> aligned_bytes(int64_t bytes, void*& address) {
  std::vector<std::byte> memory(static_cast<size_t>(bytes) + 64);
  address = memory.data();
  size_t space = memory.size();
  std::align(64, static_cast<size_t>(bytes), address, space);
  return memory;
}

// Outputs of a kernel whose inputs are f32 (`floats`), and lengths last.
std::vector<std::vector<float>> outputs_with(int threads, const char* op, const std::vector<ValueType>& types,
                                             const std::vector<std::vector<float>>& floats,
                                             const std::vector<int32_t>& lengths) {
  const OpSet ops = lstm_ops();
  const Attributes none;
  std::vector<std::optional<ValueType>> inputs(types.begin(), types.end());
  const OpCall call{none, inputs};
  const auto choice = ops.choose_kernel(op, KernelDevice::cpu, {call, threads});
  std::vector<std::vector<float>> outputs;
  std::vector<void*> to;
  for (const OutputSpec& spec : ops.table().find(op).outputs(call)) {
    to.push_back(outputs.emplace_back(spec.type.shape.elements()).data());
  }
  std::vector<const void*> from;
  for (const auto& input : floats) from.push_back(input.data());
  from.push_back(lengths.data());
  void* workspace = nullptr;
  const auto memory = aligned_bytes(choice.kernel->workspace_bytes(), workspace);
  choice.kernel->run({.inputs = from, .outputs = to, .workspace = static_cast<std::byte*>(workspace)});
  return outputs;
}

std::vector<float> drawn(int64_t count) {
  std::vector<float> values(count);
  uint32_t state = 99;
  for (float& value : values) value = static_cast<float>(state = state * 1664525u + 1013904223u) / 2147483648.0f - 1;
  return values;
}

// No part of the sums is shared between threads, and a thread's blocks of samples do not change them.
TEST(Lstm, SameBitsWithAnyNumberOfThreads) {
  const Case c{"threads", 40, falling(37, 9)};
  const std::vector<int32_t> lengths(c.lengths.begin(), c.lengths.end());
  const ValueType rows = c.of_rows(40), gates = c.of_rows(160), ids{DType::i32, {c.batch()}};
  const std::vector<float> h = drawn(rows.shape.elements()), x = drawn(gates.shape.elements()), w = drawn(160 * 40);
  const auto run = [&](int threads) {
    return std::vector{outputs_with(threads, "lstm", {gates, c.weight(), ids}, {x, w}, lengths),
                       outputs_with(threads, "lstm_grad", {rows, gates, rows, c.weight(), ids}, {h, x, h, w}, lengths),
                       outputs_with(threads, "lstm_grad_weight", {rows, gates, ids}, {h, x}, lengths)};
  };
  const auto one = run(1);
  for (const int threads : {2, 3, 8}) EXPECT_EQ(run(threads), one) << threads;
}

// torch.nn.LSTM over pack_padded_sequence in double (PyTorch 1.13): lengths 3, 2, 1, two hidden units, no biases, the
// identity as input weight, loss = sum of h r; the gradients are those of input and weight_hh_l0.
const float kTorchOutput[] = {0.0746075999f,  0.157324588f, 0.134283644f,  -0.0380430739f, 0.140742642f,  -0.183714619f,
                              -0.0765550971f, 0.124608015f, 0.0988649146f, -0.0197861356f, -0.143483413f, 0.122811776f};
const float kTorchGradient[] = {0.00398979742f,
                                -0.0222592849f,
                                0,
                                0,
                                0.0137922235f,
                                -0.0694862306f,
                                0.0375323323f,
                                0.100933742f,
                                -0.0082412137f,
                                -0.00623906532f,
                                0,
                                0,
                                -0.015281599f,
                                0.141710592f,
                                0.0822308823f,
                                -0.00562127284f,
                                -0.00976767376f,
                                0.0854723625f,
                                0,
                                0,
                                -0.0525644758f,
                                -0.0886232336f,
                                -0.0206132634f,
                                0.0377873924f,
                                0.039988474f,
                                0.0828957781f,
                                -0.0218005768f,
                                -0.0520846332f,
                                -0.173717626f,
                                -0.0564680244f,
                                0.0233157652f,
                                -0.0374678976f,
                                0.051673528f,
                                -0.000254113314f,
                                -0.0368639844f,
                                -0.000831047791f,
                                -0.0513209869f,
                                0.0205265596f,
                                -0.0129968668f,
                                -0.00127320163f,
                                -0.043655259f,
                                0.0345710632f,
                                -0.00907793501f,
                                0.00855934056f,
                                0.0740592977f,
                                0.0672668353f,
                                -0.0371780467f,
                                0.0864394333f};
const float kTorchWeightGradient[] = {0.0132643863f,   -0.00111444483f,  0.00350394069f,  0.0173590429f,
                                      -0.00588175668f, -0.00315853094f,  -0.00465276674f, -0.00709601539f,
                                      -0.025521841f,   -0.0161492636f,   -0.00660618165f, -0.00128271525f,
                                      0.00284043562f,  -0.000470098698f, -0.00958373927f, 0.00492486117f};

TEST(Lstm, GivesWhatPyTorchGives) {
  const auto filled = [](size_t count, double (*function)(double), double factor, double shift) {
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i)
      values[i] = static_cast<float>(function(factor * static_cast<double>(i) + shift));
    return values;
  };
  const std::vector<float> x = filled(48, std::sin, 1.7, 0), w = filled(16, std::cos, 0.9, 0);
  const std::vector<float> r = filled(12, std::sin, 0.6, 1);
  const ValueType rows{DType::f32, {6, 2}}, gates{DType::f32, {6, 8}}, weight{DType::f32, {8, 2}}, ids{DType::i32, {3}};
  const std::vector<int32_t> lengths = {3, 2, 1};
  const auto got = outputs_with(1, "lstm", {gates, weight, ids}, {x, w}, lengths);
  const auto got_dx =
      outputs_with(1, "lstm_grad", {rows, gates, rows, weight, ids}, {r, got[1], got[2], w}, lengths)[0];
  const auto got_dw = outputs_with(1, "lstm_grad_weight", {rows, gates, ids}, {got[0], got_dx}, lengths)[0];
  EXPECT_THAT(got[0], ::testing::Pointwise(::testing::FloatNear(2e-7f), kTorchOutput));
  EXPECT_THAT(got_dx, ::testing::Pointwise(::testing::FloatNear(2e-7f), kTorchGradient));
  EXPECT_THAT(got_dw, ::testing::Pointwise(::testing::FloatNear(2e-7f), kTorchWeightGradient));
}

TEST(PackedRowIds, HangOnSampleAndStep) {
  testing::check_op_case(
      lstm_ops(),
      {.name = "ids",
       .op = "packed_row_ids",
       .attributes = {{"rows", int64_t{6}}},
       .inputs = {{.type = {DType::i32, {3}}, .values = {7, 0, 4}}, {.type = {DType::i32, {3}}, .values = {3, 2, 1}}},
       .reference =
           [](const Attributes&, const auto&) {
             const double step = 1 << 20;
             return std::vector<Reference>{{{DType::i32, {6}}, {7, 0, 4, step + 7, step, 2 * step + 7}}};
           },
       .check_gradient = false,
       .flops = 0});
}

std::string refusal(const char* op, std::vector<std::optional<ValueType>> inputs, const Attributes& attributes = {}) {
  try {
    lstm_ops().table().find(op).outputs({attributes, inputs});
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

TEST(LstmRule, RefusesShapesThatDoNotFit) {
  const ValueType x{DType::f32, {6, 8}}, w{DType::f32, {8, 2}}, lengths{DType::i32, {3}};
  EXPECT_EQ(refusal("lstm", {x, w, lengths}), "accepted");
  EXPECT_EQ(refusal("lstm", {ValueType{DType::f32, {6, 7}}, w, lengths}),
            "op 'lstm', operand 'x': wanted [rows,4*hidden], given f32[6,7]");
  EXPECT_EQ(refusal("lstm", {x, ValueType{DType::f32, {2, 8}}, lengths}),
            "op 'lstm', operand 'w': wanted f32[8,2], given f32[2,8]");
  EXPECT_EQ(refusal("lstm", {x, w, ValueType{DType::i32, {7}}}),
            "op 'lstm', operand 'lengths': wanted i32[1 to 6], given i32[7]");
  EXPECT_EQ(refusal("lstm_grad_weight", {ValueType{DType::f32, {6, 2}}, x, lengths, w}), "accepted");
  EXPECT_EQ(refusal("packed_row_ids", {lengths, lengths}, {{"rows", int64_t{2}}}),
            "op 'packed_row_ids', attribute 'rows': wanted at least the 3 samples, given 2");
}

}  // namespace
}  // namespace tidemark::ops
