#include "ops/batch_norm/batch_norm.h"

#include "base/error.h"
#include "graph/autodiff.h"
#include "ops/batch_norm/batch_norm_kernels.h"
#include "ops/batch_norm/batch_norm_shape.h"
#include "ops/op_rules.h"

namespace tidemark::ops {
namespace {

// Declared cost of one element.
constexpr double kStatisticsFlops = 4;
constexpr double kApplyFlops = 4;
constexpr double kForwardFlops = kStatisticsFlops + kApplyFlops;
constexpr double kResidualFlops = 1;
constexpr double kGradientFlops = 13;
constexpr double kMaskFlops = 3;
constexpr double kInferenceFlops = 4;
constexpr double kUpdateFlops = 12;

double elements(const OpCall& call, size_t i) { return static_cast<double>(call.input(i).shape.elements()); }

double flops_with_residual(const OpCall& call, double flops, size_t residual) {
  return (flops + (call.has(residual) ? kResidualFlops : 0)) * elements(call, 0);
}

// y of the ops that normalize.
OutputSpec normalized(const OpCall& call, size_t residual) {
  OutputSpec y{.type = call.input(0), .may_share = {0}};
  if (call.has(residual)) y.may_share.push_back(residual);
  return y;
}

class BatchNorm : public Op {
 public:
  std::string_view name() const override { return "batch_norm"; }

  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    const ValueType statistics{DType::f32, batch_norm_shape(call).statistics()};
    return {normalized(call, kBatchNormResidual),
            {.type = statistics, .suffix = "mean"},
            {.type = statistics, .suffix = "rstd"}};
  }

  void gradient(GradientContext& context) const override {
    if (context.output_gradient(1).valid() || context.output_gradient(2).valid()) {
      throw Error(ErrorCode::config, "op 'batch_norm': its outputs 'mean' and 'rstd' have no gradient");
    }
    const Attributes& forward = context.forward().attributes;
    bool relu = forward.boolean_or("relu", false);
    ValueId dz = context.output_gradient(0);
    if (context.input(kBatchNormResidual).valid()) {
      if (relu) dz = context.emit("relu_grad", "dz", {context.output(0), dz})[0];
      relu = false;
      context.add_gradient(kBatchNormResidual, dz);
    }
    if (!context.needs_gradient(0) && !context.needs_gradient(1) && !context.needs_gradient(2)) return;
    const ValueId gamma_sum = context.needs_gradient(1) ? context.accumulator(1) : ValueId();
    const ValueId beta_sum = context.needs_gradient(2) ? context.accumulator(2) : ValueId();
    const std::vector<ValueId> gradients =
        context.emit("batch_norm_grad", "grad",
                     {dz, context.input(0), context.input(1), context.output(1), context.output(2),
                      relu ? context.input(2) : ValueId(), gamma_sum, beta_sum},
                     {{"group", forward.integer("group")}, {"relu", relu}});
    if (context.needs_gradient(0)) context.add_gradient(0, gradients[0]);
    give(context, 1, gamma_sum, gradients[1]);
    give(context, 2, beta_sum, gradients[2]);
  }

  std::optional<SampleRule> samples(const OpCall& call) const override {
    return SampleRule{
        .inputs = {0, kBatchNormResidual}, .outputs = {0, 1, 2}, .group = call.attributes.integer("group")};
  }
  Cost cost(const OpCall& call) const override {
    return operand_cost(*this, call, flops_with_residual(call, kForwardFlops, kBatchNormResidual));
  }

 private:
  static void give(GradientContext& context, size_t i, ValueId sum, ValueId gradient) {
    if (!context.needs_gradient(i)) return;
    if (sum.valid()) {
      context.set_accumulated(i, gradient);
    } else {
      context.add_gradient(i, gradient);
    }
  }
};

class BatchNormStatistics : public Op {
 public:
  std::string_view name() const override { return "batch_norm_statistics"; }
  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    const ValueType statistics{DType::f32, batch_norm_statistics_shape(call).statistics()};
    return {{.type = statistics, .suffix = "mean"}, {.type = statistics, .suffix = "rstd"}};
  }
  std::optional<SampleRule> samples(const OpCall& call) const override {
    return SampleRule{.inputs = {0}, .outputs = {0, 1}, .group = call.attributes.integer("group")};
  }
  Cost cost(const OpCall& call) const override {
    return operand_cost(*this, call, kStatisticsFlops * elements(call, 0));
  }
};

class BatchNormApply : public Op {
 public:
  std::string_view name() const override { return "batch_norm_apply"; }
  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    batch_norm_apply_shape(call);
    return {normalized(call, kBatchNormApplyResidual)};
  }
  std::optional<SampleRule> samples(const OpCall& call) const override {
    return SampleRule{
        .inputs = {0, 3, 4, kBatchNormApplyResidual}, .outputs = {0}, .group = call.attributes.integer("group")};
  }
  Cost cost(const OpCall& call) const override {
    return operand_cost(*this, call, flops_with_residual(call, kApplyFlops, kBatchNormApplyResidual));
  }
};

std::vector<NodePart> split_batch_norm(const OpCall& call) {
  const Attributes& whole = call.attributes;
  const int64_t group = whole.integer("group");
  const auto input = [](size_t i) { return PartOperand{.of_outputs = false, .index = i}; };
  const auto output = [](size_t i) { return PartOperand{.of_outputs = true, .index = i}; };
  std::vector<PartOperand> of_apply = {input(0), input(1), input(2), output(1), output(2)};
  if (call.has(kBatchNormResidual)) of_apply.push_back(input(kBatchNormResidual));
  return {{.op = "batch_norm_statistics",
           .suffix = "statistics",
           .attributes = {{"group", group}, {"eps", whole.real("eps")}},
           .inputs = {input(0)},
           .outputs = {1, 2}},
          {.op = "batch_norm_apply",
           .suffix = "",
           .attributes = {{"group", group}, {"relu", whole.boolean_or("relu", false)}},
           .inputs = of_apply,
           .outputs = {0}}};
}

class BatchNormGrad : public Op {
 public:
  std::string_view name() const override { return "batch_norm_grad"; }
  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    const ValueType per_channel{DType::f32, {batch_norm_grad_shape(call).channels}};
    return {{.type = call.input(1), .may_share = {0}},
            {.type = per_channel, .suffix = "dgamma", .category = Category::gradients, .overwrites = 6},
            {.type = per_channel, .suffix = "dbeta", .category = Category::gradients, .overwrites = 7}};
  }
  std::optional<SampleRule> samples(const OpCall& call) const override {
    return SampleRule{
        .inputs = {0, 1, 3, 4}, .outputs = {0}, .sums = {{1, 6}, {2, 7}}, .group = call.attributes.integer("group")};
  }
  Cost cost(const OpCall& call) const override {
    const double mask = call.attributes.boolean_or("relu", false) ? kMaskFlops : 0;
    return operand_cost(*this, call, (kGradientFlops + mask) * elements(call, 1));
  }
};

class BatchNormInference : public Op {
 public:
  std::string_view name() const override { return "batch_norm_inference"; }
  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    batch_norm_inference_shape(call);
    return {normalized(call, kBatchNormInferenceResidual)};
  }
  std::optional<SampleRule> samples(const OpCall&) const override {
    return SampleRule{.inputs = {0, kBatchNormInferenceResidual}, .outputs = {0}};
  }
  Cost cost(const OpCall& call) const override {
    return operand_cost(*this, call, flops_with_residual(call, kInferenceFlops, kBatchNormInferenceResidual));
  }
};

class BatchNormUpdateStatistics : public Op {
 public:
  std::string_view name() const override { return "batch_norm_update_statistics"; }
  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    batch_norm_update_shape(call);
    const Category category = Category::statistics;
    return {{.type = call.input(2), .suffix = "running_mean", .category = category, .overwrites = 2},
            {.type = call.input(3), .suffix = "running_var", .category = category, .overwrites = 3},
            {.type = call.input(4), .suffix = "counter", .category = category, .overwrites = 4}};
  }
  // Its groups have no order but that of the samples: the counts of a call tell of all of them.
  std::optional<SampleRule> samples(const OpCall&) const override { return SampleRule{}; }
  Cost cost(const OpCall& call) const override { return operand_cost(*this, call, kUpdateFlops * elements(call, 0)); }
  bool may_run_twice() const override { return false; }
};

}  // namespace

OpDefinition batch_norm_op() { return {std::make_unique<BatchNorm>(), batch_norm_kernels(), split_batch_norm}; }

OpDefinition batch_norm_statistics_op() {
  return {std::make_unique<BatchNormStatistics>(), batch_norm_statistics_kernels()};
}

OpDefinition batch_norm_apply_op() { return {std::make_unique<BatchNormApply>(), batch_norm_apply_kernels()}; }

OpDefinition batch_norm_grad_op() { return {std::make_unique<BatchNormGrad>(), batch_norm_grad_kernels()}; }

OpDefinition batch_norm_inference_op() {
  return {std::make_unique<BatchNormInference>(), batch_norm_inference_kernels()};
}

OpDefinition batch_norm_update_statistics_op() {
  return {std::make_unique<BatchNormUpdateStatistics>(), batch_norm_update_statistics_kernels()};
}

}  // namespace tidemark::ops
