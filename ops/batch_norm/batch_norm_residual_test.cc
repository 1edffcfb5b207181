// Batch normalization that adds a residual, and the ReLU's mask that needs no output.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "ops/batch_norm/batch_norm_cases.h"

namespace tidemark::ops {
namespace {

using testing::check_op_case;
using testing::OpCase;
using testing::Reference;

using Floats = std::vector<float>;

OpCase residual_case(const Shape& x, int64_t group, bool relu) {
  OpCase op_case = batch_norm_case(x, group, relu);
  op_case.name += relu ? " residual relu" : " residual";
  op_case.inputs.push_back({.type = {DType::f32, x}});
  op_case.flops = 9.0 * static_cast<double>(x.elements());
  return op_case;
}

TEST(BatchNormResidual, OutputAndGradientsMatchReference) {
  for (bool relu : {false, true}) {
    check_op_case(batch_norm_ops(), residual_case({6, 3, 2, 5}, 2, relu));
    check_op_case(batch_norm_ops(), residual_case({5, 2, 2, 3}, 2, relu));
    check_op_case(batch_norm_ops(), residual_case({3, 2, 3, 17}, 8, relu));
    check_op_case(batch_norm_ops(), residual_case({3, 2, 2, 1}, 1, relu));  // groups of one sample
    check_op_case(batch_norm_ops(), residual_case({4, 2, 2, 3}, 1, relu));
    OpCase large = residual_case({5, 28, 28, 40}, 2, relu);
    large.check_gradient = false;  // too many elements for finite differences
    check_op_case(batch_norm_ops(), large);
  }
}

// By themselves, for what they declare and what their outputs may share.
TEST(BatchNormResidual, ApplyAndInferenceMatchReference) {
  const Shape x{3, 5, 7, 19};
  const ValueType tensor{DType::f32, x}, per_channel{DType::f32, {19}}, per_group{DType::f32, {1, 19}};
  for (const bool inference : {false, true}) {
    const ValueType& statistic = inference ? per_channel : per_group;
    OpCase op_case{.name = "residual",
                   .op = inference ? "batch_norm_inference" : "batch_norm_apply",
                   .attributes = {{"relu", true}},
                   .inputs = {{.type = tensor},
                              {.type = per_channel},
                              {.type = per_channel},
                              {.type = statistic},
                              {.type = statistic, .mean = 2.0, .stddev = 0.3},
                              {.type = tensor}},
                   .check_gradient = false,
                   .flops = 5.0 * static_cast<double>(x.elements())};
    op_case.attributes.set(inference ? "eps" : "group", inference ? Attribute(kNormTestEps) : Attribute(int64_t{8}));
    op_case.reference = [=](const Attributes&, const std::vector<Reference>& in) {
      Reference y = in[0];
      for (size_t i = 0; i < y.data.size(); ++i) {
        const size_t c = i % 19;
        const double rstd = inference ? 1 / std::sqrt(in[4].data[c] + kNormTestEps) : in[4].data[c];
        const double z = (y.data[i] - in[3].data[c]) * rstd * in[1].data[c] + in[2].data[c] + in[5].data[i];
        y.data[i] = std::max(z, 0.0);
      }
      return std::vector<Reference>{y};
    };
    check_op_case(batch_norm_ops(), op_case);
  }
}

// Tensors and parameters of one call, with statistics as they come.
struct Problem {
  Problem(int64_t samples, int64_t channels)
      : tensor{DType::f32, {samples, 7, 6, channels}}, per_channel{DType::f32, {channels}} {
    std::mt19937 generator(static_cast<uint32_t>(channels));
    std::normal_distribution<float> normal;
    const auto fill = [&](Floats& floats, const ValueType& type) {
      floats.resize(static_cast<size_t>(type.shape.elements()));
      for (float& value : floats) value = normal(generator);
    };
    for (Floats* floats : {&x, &residual, &dy}) fill(*floats, tensor);
    for (Floats* floats : {&gamma, &beta, &mean}) fill(*floats, per_channel);
    rstd.assign(gamma.size(), 0.75f);
  }

  // y of batch_norm, batch_norm_apply or batch_norm_inference over one group.
  Floats normalize(const std::string& op, bool relu, bool with_residual) const {
    const Attributes attributes = {{"relu", relu}, {"eps", kNormTestEps}, {"group", tensor.shape[0]}};
    std::vector<std::optional<ValueType>> types = {tensor, per_channel, per_channel};
    std::vector<const float*> inputs = {x.data(), gamma.data(), beta.data()};
    if (op != "batch_norm") {
      const ValueType statistic =
          op == "batch_norm_apply" ? ValueType{DType::f32, {1, per_channel.shape[0]}} : per_channel;
      types.insert(types.end(), {statistic, statistic});
      inputs.insert(inputs.end(), {mean.data(), rstd.data()});
    }
    if (with_residual) types.push_back(tensor), inputs.push_back(residual.data());
    return run_kernel_of(ops, op, attributes, types, inputs)[0];
  }

  const OpSet ops = batch_norm_ops();
  ValueType tensor, per_channel;
  Floats x, residual, dy, gamma, beta, mean, rstd;
};

bool same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

constexpr int64_t kChannels[] = {1, 3, 5, 16, 17, 23, 48, 64, 100};  // single ones, parts of a vector, several vectors

// Where x is below the mean, the last channel's sums are -0.
void put_negative_zeros_in_last_channel(Problem& problem) {
  const size_t channels = problem.gamma.size();
  problem.gamma.back() = 0;
  problem.beta.back() = -0.0f;
  for (size_t i = channels - 1; i < problem.residual.size(); i += channels) problem.residual[i] = -0.0f;
}

TEST(BatchNormResidual, HasTheBitsOfThreeOpsOneAfterTheOther) {
  for (const int64_t channels : kChannels) {
    Problem problem(3, channels);
    if (channels > 1) put_negative_zeros_in_last_channel(problem);
    problem.residual[0] = std::numeric_limits<float>::quiet_NaN();  // a diverging run shows
    for (const char* op : {"batch_norm", "batch_norm_apply", "batch_norm_inference"}) {
      const ValueType& type = problem.tensor;
      const Floats z = problem.normalize(op, false, false);
      const Floats sum = run_kernel_of(problem.ops, "add", {}, {type, type}, {z.data(), problem.residual.data()})[0];
      const Floats y = run_kernel_of(problem.ops, "relu", {}, {type}, {sum.data()})[0];
      EXPECT_TRUE(same_bits(problem.normalize(op, false, true), sum)) << op << ", " << channels << " channels";
      EXPECT_TRUE(same_bits(problem.normalize(op, true, true), y)) << op << ", " << channels << " channels";
      EXPECT_TRUE(std::isnan(y[0]));
    }
  }
}

// Where z is nearly zero, another order of its operations, or one rounding less, gives another sign; in the first
// channel it is zero to the bit.
void put_roots_at_some_elements(Problem& problem) {
  const size_t channels = problem.gamma.size();
  problem.beta[0] = 0;
  for (size_t i = 0; i < problem.x.size(); ++i) {
    const size_t c = i % channels;
    if (i / channels % 3 == 0) problem.x[i] = problem.mean[c] - problem.beta[c] / (problem.gamma[c] * problem.rstd[c]);
  }
}

TEST(BatchNormMask, IsThatOfTheOutputBitForBit) {
  for (const int64_t channels : kChannels) {
    Problem problem(3, channels);
    put_roots_at_some_elements(problem);
    const ValueType& tensor = problem.tensor;
    const ValueType per_group{DType::f32, {1, channels}};
    const Floats y = problem.normalize("batch_norm_apply", true, false);
    const Floats dz = run_kernel_of(problem.ops, "relu_grad", {}, {tensor, tensor}, {y.data(), problem.dy.data()})[0];
    const auto gradient = [&](const Floats& dy, bool relu) {
      return run_kernel_of(problem.ops, "batch_norm_grad", {{"group", int64_t{3}}, {"relu", relu}},
                           {tensor, tensor, problem.per_channel, per_group, per_group, problem.per_channel},
                           {dy.data(), problem.x.data(), problem.gamma.data(), problem.mean.data(), problem.rstd.data(),
                            problem.beta.data()});
    };
    const auto masked = gradient(problem.dy, true), wanted = gradient(dz, false);
    for (size_t o = 0; o < 3; ++o) EXPECT_TRUE(same_bits(masked[o], wanted[o])) << "output " << o << ", " << channels;
  }
}

// Large enough for several chunks, and so for several threads.
TEST(BatchNormResidual, HasTheSameBitsWithEveryNumberOfThreads) {
  const int64_t samples = 5, group = 2, channels = 17;
  const ValueType tensor{DType::f32, {samples, 28, 28, channels}}, per_channel{DType::f32, {channels}};
  const ValueType per_group{DType::f32, {(samples + group - 1) / group, channels}};
  const OpSet ops = batch_norm_ops();
  std::mt19937 generator(11);
  std::normal_distribution<float> normal;
  Floats x(static_cast<size_t>(tensor.shape.elements())), residual = x, dy = x;
  for (Floats* floats : {&x, &residual, &dy})
    for (float& value : *floats) value = normal(generator);
  const Floats gamma(channels, 1.5f), beta(channels, 0.25f);
  const auto all = [&](int threads) {
    auto outputs = run_kernel_of(ops, "batch_norm", {{"group", group}, {"eps", kNormTestEps}, {"relu", true}},
                                 {tensor, per_channel, per_channel, tensor},
                                 {x.data(), gamma.data(), beta.data(), residual.data()}, threads);
    const auto gradients =
        run_kernel_of(ops, "batch_norm_grad", {{"group", group}, {"relu", true}},
                      {tensor, tensor, per_channel, per_group, per_group, per_channel},
                      {dy.data(), x.data(), gamma.data(), outputs[1].data(), outputs[2].data(), beta.data()}, threads);
    outputs.insert(outputs.end(), gradients.begin(), gradients.end());
    return outputs;
  };
  const auto by_one = all(1);
  for (const int threads : {2, 3, 8}) EXPECT_EQ(all(threads), by_one) << threads << " threads";
}

TEST(BatchNormResidual, RefusesWhatDoesNotFit) {
  const Attributes attributes = {{"group", int64_t{2}}, {"eps", kNormTestEps}, {"relu", true}};
  const ValueType x{DType::f32, {2, 3}}, other{DType::f32, {3, 2}}, c{DType::f32, {3}}, g{DType::f32, {1, 3}};
  expect_norm_refused("batch_norm", attributes, {x, c, c, other},
                      "op 'batch_norm', operand 'residual': wanted f32[2,3], given f32[3,2]");
  expect_norm_refused("batch_norm_apply", attributes, {x, c, c, g, g, other},
                      "op 'batch_norm_apply', operand 'residual': wanted f32[2,3], given f32[3,2]");
  expect_norm_refused("batch_norm_inference", attributes, {x, c, c, c, c, other},
                      "op 'batch_norm_inference', operand 'residual': wanted f32[2,3], given f32[3,2]");
  expect_norm_refused("batch_norm_grad", attributes, {x, x, c, g, g},
                      "op 'batch_norm_grad', operand 'beta': wanted f32[3], given none, with relu");
}

}  // namespace
}  // namespace tidemark::ops
