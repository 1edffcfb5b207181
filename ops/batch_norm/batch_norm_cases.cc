#include "ops/batch_norm/batch_norm_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ops/activation/activation.h"
#include "ops/add/add.h"
#include "ops/batch_norm/batch_norm.h"

namespace tidemark::ops {

using testing::OpCase;
using testing::Reference;

OpSet batch_norm_ops() {
  OpSet ops;
  ops.add(batch_norm_op());
  ops.add(batch_norm_statistics_op());
  ops.add(batch_norm_apply_op());
  ops.add(batch_norm_grad_op());
  ops.add(batch_norm_inference_op());
  ops.add(batch_norm_update_statistics_op());
  ops.add(add_op());
  ops.add(relu_op());
  ops.add(relu_grad_op());
  return ops;
}

NormRows::NormRows(const Shape& x, int64_t group)
    : per_sample(x.elements() / x[0] / x.dim(-1)),
      channels(x.dim(-1)),
      samples(x[0]),
      groups((x[0] + group - 1) / group) {}

int64_t NormRows::end(int64_t g, int64_t group) const { return std::min((g + 1) * group, samples) * per_sample; }

std::vector<Reference> batch_norm_reference(const Attributes& attributes, const std::vector<Reference>& in) {
  const int64_t group = attributes.integer("group");
  const NormRows rows(in[0].type.shape, group);
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
      const double scale = 1 / std::sqrt(squares / static_cast<double>(end - begin) + kNormTestEps);
      for (int64_t r = begin; r < end; ++r) {
        double& z = y.data[r * rows.channels + c];
        z = (z - center) * scale * in[1].data[c] + in[2].data[c];
        if (in.size() > 3) z += in[3].data[r * rows.channels + c];
        if (attributes.boolean_or("relu", false)) z = std::max(z, 0.0);
      }
      mean.data[g * rows.channels + c] = center;
      rstd.data[g * rows.channels + c] = scale;
    }
  }
  return {y, mean, rstd};
}

OpCase batch_norm_case(const Shape& x, int64_t group, bool relu, double mean) {
  const ValueType per_channel{DType::f32, {x.dim(-1)}};
  return {.name = "batch_norm " + to_string(x) + " group " + std::to_string(group),
          .op = "batch_norm",
          .attributes = {{"group", group}, {"eps", kNormTestEps}, {"relu", relu}},
          .inputs = {{.type = {DType::f32, x}, .mean = mean, .stddev = 2.0},
                     {.type = per_channel, .mean = 1.0},
                     {.type = per_channel}},
          .reference = batch_norm_reference,
          .flops = 8.0 * static_cast<double>(x.elements())};
}

std::vector<std::vector<float>> run_kernel_of(const OpSet& ops, const std::string& op, const Attributes& attributes,
                                              const std::vector<std::optional<ValueType>>& types,
                                              const std::vector<const float*>& inputs, int threads) {
  const OpCall call{attributes, types};
  const KernelChoice choice = ops.choose_kernel(op, KernelDevice::cpu, {call, threads});
  std::vector<std::vector<float>> outputs;
  std::vector<void*> pointers;
  for (const OutputSpec& spec : ops.table().find(op).outputs(call)) {
    outputs.emplace_back(static_cast<size_t>(spec.type.shape.elements()));
    pointers.push_back(outputs.back().data());
  }
  std::vector<float> workspace(static_cast<size_t>(choice.kernel->workspace_bytes()) / sizeof(float) + 16);
  const std::vector<const void*> in(inputs.begin(), inputs.end());
  choice.kernel->run({.inputs = in, .outputs = pointers, .workspace = reinterpret_cast<std::byte*>(workspace.data())});
  return outputs;
}

void expect_norm_refused(const std::string& op, const Attributes& attributes,
                         const std::vector<std::optional<ValueType>>& types, const char* message) {
  const OpSet ops = batch_norm_ops();
  try {
    ops.table().find(op).outputs({attributes, types});
    ADD_FAILURE() << op << " accepted: " << message;
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), message);
  }
}

}  // namespace tidemark::ops
