#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "ops/batch_norm/batch_norm_cases.h"

namespace tidemark::ops {
namespace {

using testing::check_op_case;
using testing::OpCase;
using testing::Reference;

constexpr double kEps = kNormTestEps;

TEST(BatchNorm, GroupsWholePartialAndLargerThanTheBatch) {
  for (bool relu : {false, true}) {
    check_op_case(batch_norm_ops(), batch_norm_case({6, 3, 2, 5}, 2, relu));
    check_op_case(batch_norm_ops(), batch_norm_case({5, 2, 2, 3}, 2, relu));
    check_op_case(batch_norm_ops(), batch_norm_case({3, 2, 3, 17}, 8, relu));
  }
}

TEST(BatchNorm, OneChannelOneRowNoImage) {
  check_op_case(batch_norm_ops(), batch_norm_case({4, 3, 3, 1}, 4, false));
  check_op_case(batch_norm_ops(), batch_norm_case({7, 33}, 3, true));
  OpCase one_row = batch_norm_case({1, 1, 1, 20}, 1, false);
  one_row.check_gradient = false;  // y is beta, whatever x
  check_op_case(batch_norm_ops(), one_row);
}

TEST(BatchNorm, SeveralChunksAGroup) {
  for (int64_t channels : {1, 16, 40}) {
    OpCase op_case = batch_norm_case({5, 28, 28, channels}, 2, true);
    op_case.check_gradient = false;  // too many elements for finite differences
    check_op_case(batch_norm_ops(), op_case);
  }
}

// A mean 1000 times the deviation: a sum of squares minus the square of the sum would keep two digits of the variance.
TEST(BatchNorm, LargeMeanDoesNotCancel) {
  OpCase op_case = batch_norm_case({8, 14, 14, 4}, 8, false, 2000.0);
  op_case.check_gradient = false;
  op_case.tolerance = 2e-4;  // x itself is rounded to 1e-4
  check_op_case(batch_norm_ops(), op_case);
}

TEST(BatchNorm, GradientOfTheStatisticsIsRefused) {
  OpCase op_case = batch_norm_case({4, 3}, 2, false);
  op_case.gradient_outputs = {0, 1};
  const std::vector<std::string> faults = op_case_faults(batch_norm_ops(), op_case);
  ASSERT_FALSE(faults.empty());
  EXPECT_NE(faults[0].find("'mean' and 'rstd' have no gradient"), std::string::npos) << faults[0];
}

OpCase grad_case(const Shape& x, int64_t group, bool relu, bool accumulate) {
  const NormRows rows(x, group);
  const ValueType tensor{DType::f32, x}, per_channel{DType::f32, {rows.channels}};
  const ValueType statistics{DType::f32, {rows.groups, rows.channels}};
  OpCase op_case{.name = "batch_norm_grad " + to_string(x),
                 .op = "batch_norm_grad",
                 .attributes = {{"group", group}, {"relu", relu}},
                 .inputs = {{.type = tensor},
                            {.type = tensor},
                            {.type = per_channel},
                            {.type = statistics},
                            {.type = statistics, .mean = 1.0, .stddev = 0.1},
                            {.type = per_channel, .absent = !relu},
                            {.type = per_channel, .absent = !accumulate},
                            {.type = per_channel, .absent = !accumulate}},
                 .tolerance = 5e-5,
                 .check_gradient = false,
                 .flops = (relu ? 16.0 : 13.0) * static_cast<double>(x.elements())};
  op_case.reference = [=](const Attributes&, const std::vector<Reference>& in) {
    Reference dx = in[0], zero{per_channel, std::vector<double>(static_cast<size_t>(rows.channels))};
    Reference dgamma = accumulate ? in[6] : zero, dbeta = accumulate ? in[7] : zero;
    for (int64_t g = 0; g < rows.groups; ++g) {
      for (int64_t c = 0; c < rows.channels; ++c) {
        const int64_t at = g * rows.channels + c, begin = rows.begin(g, group), end = rows.end(g, group);
        const double scale = in[4].data[at], count = static_cast<double>(end - begin);
        auto xhat = [&](int64_t i) { return (in[1].data[i] - in[3].data[at]) * scale; };
        auto masked = [&](int64_t i) { return relu && xhat(i) * in[2].data[c] + in[5].data[c] <= 0; };
        auto dz = [&](int64_t i) { return masked(i) ? 0.0 : in[0].data[i]; };
        double sum = 0, product = 0;
        for (int64_t r = begin; r < end; ++r) {
          const int64_t i = r * rows.channels + c;
          sum += dz(i), product += dz(i) * xhat(i);
        }
        for (int64_t r = begin; r < end; ++r) {
          const int64_t i = r * rows.channels + c;
          dx.data[i] = in[2].data[c] * scale * (dz(i) - sum / count - xhat(i) * product / count);
        }
        dgamma.data[c] += product, dbeta.data[c] += sum;
      }
    }
    return std::vector<Reference>{dx, dgamma, dbeta};
  };
  return op_case;
}

TEST(BatchNorm, GradientMatchesReference) {
  for (bool relu : {false, true}) {
    for (bool accumulate : {false, true}) {
      check_op_case(batch_norm_ops(), grad_case({5, 14, 14, 33}, 2, relu, accumulate));
      check_op_case(batch_norm_ops(), grad_case({3, 1, 1, 1}, 4, relu, accumulate));
      check_op_case(batch_norm_ops(), grad_case({4, 2, 3, 3}, 1, relu, accumulate));  // groups of one sample
    }
  }
}

// The parts by themselves; that together they give batch_norm's bits is checked with every case of batch_norm.
TEST(BatchNorm, PartsMatchReference) {
  const Shape x{5, 7, 6, 17};
  const int64_t group = 2;
  OpCase statistics = batch_norm_case(x, group, false);
  statistics.op = "batch_norm_statistics";
  statistics.inputs.resize(1);
  statistics.reference = [](const Attributes& attributes, const std::vector<Reference>& in) {
    Reference gamma{{DType::f32, {17}}, std::vector<double>(17, 1.0)}, beta{gamma.type, std::vector<double>(17)};
    const std::vector<Reference> whole = batch_norm_reference(attributes, {in[0], gamma, beta});
    return std::vector<Reference>{whole[1], whole[2]};
  };
  statistics.flops = 4.0 * static_cast<double>(x.elements());
  statistics.check_gradient = false;
  check_op_case(batch_norm_ops(), statistics);

  OpCase apply = batch_norm_case(x, group, true);
  apply.op = "batch_norm_apply";
  const ValueType per_group{DType::f32, {3, 17}};
  apply.inputs.push_back({.type = per_group, .mean = 0.5});
  apply.inputs.push_back({.type = per_group, .mean = 1.0, .stddev = 0.1});
  apply.reference = [=](const Attributes&, const std::vector<Reference>& in) {
    Reference y = in[0];
    const NormRows rows(x, group);
    for (int64_t i = 0; i < x.elements(); ++i) {
      const int64_t c = i % 17, at = i / 17 / (group * rows.per_sample) * 17 + c;
      y.data[i] = std::max(0.0, (y.data[i] - in[3].data[at]) * in[4].data[at] * in[1].data[c] + in[2].data[c]);
    }
    return std::vector<Reference>{y};
  };
  apply.flops = 4.0 * static_cast<double>(x.elements());
  apply.check_gradient = false;
  check_op_case(batch_norm_ops(), apply);
}

TEST(BatchNorm, InferenceMatchesReference) {
  for (bool relu : {false, true}) {
    const ValueType per_channel{DType::f32, {19}};
    check_op_case(batch_norm_ops(), {.name = "inference",
                                     .op = "batch_norm_inference",
                                     .attributes = {{"eps", kEps}, {"relu", relu}},
                                     .inputs = {{.type = {DType::f32, {3, 5, 7, 19}}},
                                                {.type = per_channel},
                                                {.type = per_channel},
                                                {.type = per_channel},
                                                {.type = per_channel, .mean = 2.0, .stddev = 0.3}},
                                     .reference =
                                         [=](const Attributes&, const std::vector<Reference>& in) {
                                           Reference y = in[0];
                                           for (size_t i = 0; i < y.data.size(); ++i) {
                                             const size_t c = i % 19;
                                             y.data[i] = (y.data[i] - in[3].data[c]) / std::sqrt(in[4].data[c] + kEps) *
                                                             in[1].data[c] +
                                                         in[2].data[c];
                                             if (relu) y.data[i] = std::max(y.data[i], 0.0);
                                           }
                                           return std::vector<Reference>{y};
                                         },
                                     .check_gradient = false,
                                     .flops = 4.0 * 3 * 5 * 7 * 19});
  }
}

TEST(BatchNorm, RunningStatisticsMoveOnceAGroup) {
  const ValueType per_channel{DType::f32, {3}}, statistics{DType::f32, {2, 3}};
  check_op_case(batch_norm_ops(),
                {.name = "update",
                 .op = "batch_norm_update_statistics",
                 .attributes = {{"momentum", 0.1}, {"eps", kEps}, {"count", int64_t{8}}, {"last_count", int64_t{4}}},
                 .inputs = {{.type = statistics},
                            {.type = statistics, .mean = 1.0, .stddev = 0.1},
                            {.type = per_channel},
                            {.type = per_channel},
                            {.type = {DType::i32, {1}}, .low = 5, .high = 6}},
                 .reference =
                     [](const Attributes&, const std::vector<Reference>& in) {
                       Reference mean = in[2], variance = in[3], counter = in[4];
                       for (size_t i = 0; i < 6; ++i) {
                         const double unbias = i < 3 ? 8.0 / 7 : 4.0 / 3, rstd = in[1].data[i];
                         mean.data[i % 3] = 0.9 * mean.data[i % 3] + 0.1 * in[0].data[i];
                         variance.data[i % 3] = 0.9 * variance.data[i % 3] + 0.1 * unbias * (1 / (rstd * rstd) - kEps);
                       }
                       counter.data[0] += 2;
                       return std::vector<Reference>{mean, variance, counter};
                     },
                 .check_gradient = false,
                 .flops = 12.0 * 6});
  EXPECT_FALSE(batch_norm_ops().table().find("batch_norm_update_statistics").may_run_twice());
}

bool same_bits(const float* a, const float* b, int64_t count) {
  return std::memcmp(a, b, static_cast<size_t>(count) * sizeof(float)) == 0;
}

// Promise 3: statistics, outputs and input gradients of a group hang neither on its neighbours nor on the threads.
TEST(BatchNorm, AGroupGivesTheSameBitsAloneAndAmongOthers) {
  const int64_t group = 4, spatial = 14 * 14, channels = 24, samples = 3 * group - 1;  // the last group is partial
  const OpSet ops = batch_norm_ops();
  std::mt19937 generator(7);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<size_t>(samples * spatial * channels)), dy = x;
  for (float& value : x) value = normal(generator);
  for (float& value : dy) value = normal(generator);
  std::vector<float> gamma(channels, 1.5f), beta(channels, 0.25f);

  auto both = [&](int64_t first_sample, int64_t count, int threads) {
    const int64_t offset = first_sample * spatial * channels;
    const ValueType tensor{DType::f32, {count, 14, 14, channels}}, per_channel{DType::f32, {channels}};
    auto outputs =
        run_kernel_of(ops, "batch_norm", {{"group", group}, {"eps", kEps}}, {tensor, per_channel, per_channel},
                      {x.data() + offset, gamma.data(), beta.data()}, threads);
    const ValueType statistics{DType::f32, {(count + group - 1) / group, channels}};
    outputs.push_back(run_kernel_of(
        ops, "batch_norm_grad", {{"group", group}}, {tensor, tensor, per_channel, statistics, statistics},
        {dy.data() + offset, x.data() + offset, gamma.data(), outputs[1].data(), outputs[2].data()}, threads)[0]);
    return outputs;
  };

  const auto together = both(0, samples, 1);
  for (int threads : {2, 3}) EXPECT_EQ(both(0, samples, threads), together) << threads << " threads";
  for (int64_t g = 0; g < 3; ++g) {
    const int64_t count = std::min(group, samples - g * group), at = g * group * spatial * channels;
    const auto alone = both(g * group, count, 2);
    EXPECT_TRUE(same_bits(alone[0].data(), together[0].data() + at, count * spatial * channels)) << "y of group " << g;
    EXPECT_TRUE(same_bits(alone[1].data(), together[1].data() + g * channels, channels)) << "mean of group " << g;
    EXPECT_TRUE(same_bits(alone[2].data(), together[2].data() + g * channels, channels)) << "rstd of group " << g;
    EXPECT_TRUE(same_bits(alone[3].data(), together[3].data() + at, count * spatial * channels)) << "dx of group " << g;
  }
}

TEST(BatchNorm, RefusesWhatDoesNotFit) {
  const ValueType x{DType::f32, {2, 3}}, c{DType::f32, {3}}, other{DType::f32, {4}};
  expect_norm_refused("batch_norm", {{"group", int64_t{1}}, {"eps", kEps}}, {x, c, other},
                      "op 'batch_norm', operand 'beta': wanted shape [3], given f32[4]");
  expect_norm_refused("batch_norm", {{"group", int64_t{0}}, {"eps", kEps}}, {x, c, c},
                      "op 'batch_norm': wanted group >= 1, given 0");
}

}  // namespace
}  // namespace tidemark::ops
