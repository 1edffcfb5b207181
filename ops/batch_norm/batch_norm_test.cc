#include "ops/batch_norm/batch_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "base/error.h"
#include "ops/testing/op_case.h"

namespace tidemark::ops {
namespace {

using testing::check_op_case;
using testing::OpCase;
using testing::Reference;

constexpr double kEps = 1e-3;

OpSet batch_norm_ops() {
  OpSet ops;
  ops.add(batch_norm_op());
  ops.add(batch_norm_statistics_op());
  ops.add(batch_norm_apply_op());
  ops.add(batch_norm_grad_op());
  ops.add(batch_norm_inference_op());
  ops.add(batch_norm_update_statistics_op());
  return ops;
}

struct Rows {
  int64_t per_sample, channels, samples, groups;
  Rows(const Shape& x, int64_t group)
      : per_sample(x.elements() / x[0] / x.dim(-1)),
        channels(x.dim(-1)),
        samples(x[0]),
        groups((x[0] + group - 1) / group) {}
  int64_t begin(int64_t g, int64_t group) const { return g * group * per_sample; }
  int64_t end(int64_t g, int64_t group) const { return std::min((g + 1) * group, samples) * per_sample; }
};

std::vector<Reference> batch_norm_reference(const Attributes& attributes, const std::vector<Reference>& in) {
  const int64_t group = attributes.integer("group");
  const Rows rows(in[0].type.shape, group);
  Reference y = in[0], mean{{DType::f32, {rows.groups, rows.channels}}, {}};
  mean.data.resize(static_cast<size_t>(rows.groups * rows.channels));
  Reference rstd = mean;
  for (int64_t g = 0; g < rows.groups; ++g) {
    for (int64_t c = 0; c < rows.channels; ++c) {
      const int64_t begin = rows.begin(g, group), end = rows.end(g, group);
      double sum = 0, squares = 0;
      for (int64_t r = begin; r < end; ++r) sum += in[0].data[r * rows.channels + c];
      const double center = sum / static_cast<double>(end - begin);
      for (int64_t r = begin; r < end; ++r) squares += std::pow(in[0].data[r * rows.channels + c] - center, 2);
      const double scale = 1 / std::sqrt(squares / static_cast<double>(end - begin) + kEps);
      for (int64_t r = begin; r < end; ++r) {
        double& z = y.data[r * rows.channels + c];
        z = (z - center) * scale * in[1].data[c] + in[2].data[c];
        if (attributes.boolean_or("relu", false)) z = std::max(z, 0.0);
      }
      mean.data[g * rows.channels + c] = center;
      rstd.data[g * rows.channels + c] = scale;
    }
  }
  return {y, mean, rstd};
}

OpCase forward_case(const Shape& x, int64_t group, bool relu, double mean = 0.5) {
  const ValueType per_channel{DType::f32, {x.dim(-1)}};
  return {.name = "batch_norm " + to_string(x) + " group " + std::to_string(group),
          .op = "batch_norm",
          .attributes = {{"group", group}, {"eps", kEps}, {"relu", relu}},
          .inputs = {{.type = {DType::f32, x}, .mean = mean, .stddev = 2.0},
                     {.type = per_channel, .mean = 1.0},
                     {.type = per_channel}},
          .reference = batch_norm_reference,
          .flops = 8.0 * static_cast<double>(x.elements())};
}

TEST(BatchNorm, GroupsWholePartialAndLargerThanTheBatch) {
  for (bool relu : {false, true}) {
    check_op_case(batch_norm_ops(), forward_case({6, 3, 2, 5}, 2, relu));
    check_op_case(batch_norm_ops(), forward_case({5, 2, 2, 3}, 2, relu));
    check_op_case(batch_norm_ops(), forward_case({3, 2, 3, 17}, 8, relu));
  }
}

TEST(BatchNorm, OneChannelOneRowNoImage) {
  check_op_case(batch_norm_ops(), forward_case({4, 3, 3, 1}, 4, false));
  check_op_case(batch_norm_ops(), forward_case({7, 33}, 3, true));
  OpCase one_row = forward_case({1, 1, 1, 20}, 1, false);
  one_row.check_gradient = false;  // y is beta, whatever x
  check_op_case(batch_norm_ops(), one_row);
}

TEST(BatchNorm, SeveralChunksAGroup) {
  for (int64_t channels : {1, 16, 40}) {
    OpCase op_case = forward_case({5, 28, 28, channels}, 2, true);
    op_case.check_gradient = false;  // too many elements for finite differences
    check_op_case(batch_norm_ops(), op_case);
  }
}

// A mean 1000 times the deviation: a sum of squares minus the square of the sum would keep two digits of the variance.
TEST(BatchNorm, LargeMeanDoesNotCancel) {
  OpCase op_case = forward_case({8, 14, 14, 4}, 8, false, 2000.0);
  op_case.check_gradient = false;
  op_case.tolerance = 2e-4;  // x itself is rounded to 1e-4
  check_op_case(batch_norm_ops(), op_case);
}

TEST(BatchNorm, GradientOfTheStatisticsIsRefused) {
  OpCase op_case = forward_case({4, 3}, 2, false);
  op_case.gradient_outputs = {0, 1};
  const std::vector<std::string> faults = op_case_faults(batch_norm_ops(), op_case);
  ASSERT_FALSE(faults.empty());
  EXPECT_NE(faults[0].find("'mean' and 'rstd' have no gradient"), std::string::npos) << faults[0];
}

OpCase grad_case(const Shape& x, int64_t group, bool relu, bool accumulate) {
  const Rows rows(x, group);
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
                            {.type = tensor, .absent = !relu},
                            {.type = per_channel, .absent = !accumulate},
                            {.type = per_channel, .absent = !accumulate}},
                 .tolerance = 5e-5,
                 .check_gradient = false,
                 .flops = 13.0 * static_cast<double>(x.elements())};
  op_case.reference = [=](const Attributes&, const std::vector<Reference>& in) {
    Reference dx = in[0], zero{per_channel, std::vector<double>(static_cast<size_t>(rows.channels))};
    Reference dgamma = accumulate ? in[6] : zero, dbeta = accumulate ? in[7] : zero;
    for (int64_t g = 0; g < rows.groups; ++g) {
      for (int64_t c = 0; c < rows.channels; ++c) {
        const int64_t at = g * rows.channels + c, begin = rows.begin(g, group), end = rows.end(g, group);
        const double scale = in[4].data[at], count = static_cast<double>(end - begin);
        auto dz = [&](int64_t i) { return relu && in[5].data[i] <= 0 ? 0.0 : in[0].data[i]; };
        auto xhat = [&](int64_t i) { return (in[1].data[i] - in[3].data[at]) * scale; };
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
    }
  }
}

// The parts by themselves; that together they give batch_norm's bits is checked with every case of batch_norm.
TEST(BatchNorm, PartsMatchReference) {
  const Shape x{5, 7, 6, 17};
  const int64_t group = 2;
  OpCase statistics = forward_case(x, group, false);
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

  OpCase apply = forward_case(x, group, true);
  apply.op = "batch_norm_apply";
  const ValueType per_group{DType::f32, {3, 17}};
  apply.inputs.push_back({.type = per_group, .mean = 0.5});
  apply.inputs.push_back({.type = per_group, .mean = 1.0, .stddev = 0.1});
  apply.reference = [=](const Attributes&, const std::vector<Reference>& in) {
    Reference y = in[0];
    const Rows rows(x, group);
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

// The outputs of batch_norm or batch_norm_grad as float arrays.
std::vector<std::vector<float>> run(const char* op, const Attributes& attributes, std::vector<ValueType> types,
                                    const std::vector<const float*>& inputs, int threads) {
  const OpSet ops = batch_norm_ops();
  const std::vector<std::optional<ValueType>> optional_types(types.begin(), types.end());
  const OpCall call{attributes, optional_types};
  const KernelChoice choice = ops.choose_kernel(op, KernelDevice::cpu, {call, threads});
  std::vector<std::vector<float>> outputs;
  std::vector<void*> pointers;
  for (const OutputSpec& spec : ops.table().find(op).outputs(call)) {
    outputs.emplace_back(static_cast<size_t>(spec.type.shape.elements()));
    pointers.push_back(outputs.back().data());
  }
  std::vector<float> workspace(static_cast<size_t>(choice.kernel->workspace_bytes()) / 4 + 16);
  const std::vector<const void*> in(inputs.begin(), inputs.end());
  choice.kernel->run({.inputs = in, .outputs = pointers, .workspace = reinterpret_cast<std::byte*>(workspace.data())});
  return outputs;
}

bool same_bits(const float* a, const float* b, int64_t count) {
  return std::memcmp(a, b, static_cast<size_t>(count) * sizeof(float)) == 0;
}

// Promise 3: statistics, outputs and input gradients of a group hang neither on its neighbours nor on the threads.
TEST(BatchNorm, AGroupGivesTheSameBitsAloneAndAmongOthers) {
  const int64_t group = 4, spatial = 14 * 14, channels = 24, samples = 3 * group - 1;  // the last group is partial
  std::mt19937 generator(7);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<size_t>(samples * spatial * channels)), dy = x;
  for (float& value : x) value = normal(generator);
  for (float& value : dy) value = normal(generator);
  std::vector<float> gamma(channels, 1.5f), beta(channels, 0.25f);

  auto both = [&](int64_t first_sample, int64_t count, int threads) {
    const int64_t offset = first_sample * spatial * channels;
    const ValueType tensor{DType::f32, {count, 14, 14, channels}}, per_channel{DType::f32, {channels}};
    auto outputs = run("batch_norm", {{"group", group}, {"eps", kEps}}, {tensor, per_channel, per_channel},
                       {x.data() + offset, gamma.data(), beta.data()}, threads);
    const ValueType statistics{DType::f32, {(count + group - 1) / group, channels}};
    outputs.push_back(run("batch_norm_grad", {{"group", group}}, {tensor, tensor, per_channel, statistics, statistics},
                          {dy.data() + offset, x.data() + offset, gamma.data(), outputs[1].data(), outputs[2].data()},
                          threads)[0]);
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

void expect_refused(int64_t group, const Shape& beta, const char* message) {
  const OpSet ops = batch_norm_ops();
  const std::optional<ValueType> types[] = {ValueType{DType::f32, {2, 3}}, ValueType{DType::f32, {3}},
                                            ValueType{DType::f32, beta}};
  const Attributes attributes = {{"group", group}, {"eps", kEps}};
  try {
    ops.table().find("batch_norm").outputs({attributes, types});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), message);
  }
}

TEST(BatchNorm, RefusesWhatDoesNotFit) {
  expect_refused(1, {4}, "op 'batch_norm', operand 'beta': wanted shape [3], given f32[4]");
  expect_refused(0, {3}, "op 'batch_norm': wanted group >= 1, given 0");
}

}  // namespace
}  // namespace tidemark::ops
