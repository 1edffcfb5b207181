#include "ops/batch_norm/batch_norm_shape.h"

#include "base/error.h"
#include "ops/op_rules.h"

namespace tidemark::ops {
namespace {

BatchNormShape shape_of(std::string_view op, const OpCall& call, size_t x_operand) {
  const Shape& x = call.input(x_operand).shape;
  if (x.rank() < 2 || x.elements() == 0) refuse_operand(op, "x", "[B,..,C], not empty", to_string(x));
  BatchNormShape s;
  s.samples = x[0];
  s.channels = x.dim(-1);
  s.spatial = x.elements() / s.samples / s.channels;
  s.group = s.samples;
  s.relu = call.attributes.boolean_or("relu", false);
  return s;
}

void read_group(std::string_view op, const OpCall& call, BatchNormShape& s) {
  s.group = call.attributes.integer("group");
  if (s.group >= 1) return;
  throw Error(ErrorCode::config, "op '" + std::string(op) + "': wanted group >= 1, given " + std::to_string(s.group));
}

void require_residual(std::string_view op, const OpCall& call, size_t operand) {
  require_type(op, call, operand, "residual", call.input(0));
}

}  // namespace

BatchNormShape batch_norm_shape(const OpCall& call) {
  constexpr std::string_view op = "batch_norm";
  require_inputs(op, call, 3, 4);
  BatchNormShape s = shape_of(op, call, 0);
  read_group(op, call, s);
  require_shape(op, call, 1, "gamma", {s.channels});
  require_shape(op, call, 2, "beta", {s.channels});
  require_residual(op, call, kBatchNormResidual);
  return s;
}

BatchNormShape batch_norm_statistics_shape(const OpCall& call) {
  constexpr std::string_view op = "batch_norm_statistics";
  require_inputs(op, call, 1, 1);
  BatchNormShape s = shape_of(op, call, 0);
  read_group(op, call, s);
  return s;
}

BatchNormShape batch_norm_apply_shape(const OpCall& call) {
  constexpr std::string_view op = "batch_norm_apply";
  require_inputs(op, call, 5, 6);
  BatchNormShape s = shape_of(op, call, 0);
  read_group(op, call, s);
  require_shape(op, call, 1, "gamma", {s.channels});
  require_shape(op, call, 2, "beta", {s.channels});
  require_type(op, call, 3, "mean", {DType::f32, s.statistics()});
  require_type(op, call, 4, "rstd", {DType::f32, s.statistics()});
  require_residual(op, call, kBatchNormApplyResidual);
  return s;
}

BatchNormShape batch_norm_grad_shape(const OpCall& call) {
  constexpr std::string_view op = "batch_norm_grad";
  require_inputs(op, call, 5, 8);
  BatchNormShape s = shape_of(op, call, 1);
  read_group(op, call, s);
  const ValueType per_channel{DType::f32, {s.channels}};
  require_type(op, call, 0, "dy", call.input(1));
  require_type(op, call, 2, "gamma", per_channel);
  require_type(op, call, 3, "mean", {DType::f32, s.statistics()});
  require_type(op, call, 4, "rstd", {DType::f32, s.statistics()});
  require_type(op, call, 5, "beta", per_channel);
  require_type(op, call, 6, "acc_dgamma", per_channel);
  require_type(op, call, 7, "acc_dbeta", per_channel);
  if (s.relu && !call.has(5)) refuse_operand(op, "beta", to_string(per_channel), "none, with relu");
  return s;
}

BatchNormShape batch_norm_inference_shape(const OpCall& call) {
  constexpr std::string_view op = "batch_norm_inference";
  require_inputs(op, call, 5, 6);
  const BatchNormShape s = shape_of(op, call, 0);
  const char* names[] = {"gamma", "beta", "running_mean", "running_var"};
  for (size_t i = 0; i < 4; ++i) require_type(op, call, i + 1, names[i], {DType::f32, {s.channels}});
  require_residual(op, call, kBatchNormInferenceResidual);
  return s;
}

Shape batch_norm_update_shape(const OpCall& call) {
  constexpr std::string_view op = "batch_norm_update_statistics";
  require_inputs(op, call, 5, 5);
  const Shape& mean = call.input(0).shape;
  if (mean.rank() != 2) refuse_operand(op, "mean", "[G,C]", to_string(mean));
  require_type(op, call, 1, "rstd", call.input(0));
  require_type(op, call, 2, "running_mean", {DType::f32, {mean[1]}});
  require_type(op, call, 3, "running_var", {DType::f32, {mean[1]}});
  require_type(op, call, 4, "counter", {DType::i32, {1}});
  return mean;
}

}  // namespace tidemark::ops
