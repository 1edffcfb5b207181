#include "ops/linear_cross_entropy/linear_cross_entropy.h"

#include <algorithm>

#include "base/error.h"
#include "graph/autodiff.h"
#include "ops/linear_cross_entropy/linear_cross_entropy_cpu.h"
#include "ops/op_rules.h"

namespace tidemark::ops {
namespace {

enum Input : size_t { kX, kWeight, kTargets, kLossWeight };
constexpr size_t kLossBefore = kLinearCrossEntropyLossBefore;
constexpr size_t kWeightGradient = kLinearCrossEntropyGradWeightSum;
constexpr size_t kGradLossBefore = kLinearCrossEntropyGradLossBefore;

const ValueType kScalar = {DType::f32, {1}};

void check_positive(std::string_view op, const Attributes& attributes, std::string_view name, int64_t most) {
  if (!attributes.has(name)) return;
  const int64_t value = attributes.integer(name);
  if (value >= 1 && value <= most) return;
  throw Error(ErrorCode::config, "op '" + std::string(op) + "', attribute '" + std::string(name) + "': wanted 1 to " +
                                     std::to_string(most) + ", given " + std::to_string(value));
}

void check_operands(std::string_view op, const OpCall& call, size_t loss_before) {
  require_inputs(op, call, 4, loss_before + 1);
  const ValueType& x = call.input(kX);
  if (x.shape.rank() < 2) refuse_operand(op, "x", "[..,channels]", to_string(x));
  const ValueType& weight = call.input(kWeight);
  if (weight.dtype != x.dtype || weight.shape.rank() != 2 || weight.shape[1] != x.shape.dim(-1)) {
    refuse_operand(op, "w", std::string(to_string(x.dtype)) + "[vocabulary," + std::to_string(x.shape.dim(-1)) + "]",
                   to_string(weight));
  }
  std::vector<int64_t> leading(x.shape.dims().begin(), x.shape.dims().end() - 1);
  require_type(op, call, kTargets, "targets", {DType::i32, Shape(std::move(leading))});
  require_type(op, call, kLossWeight, "loss_weight", kScalar);
  require_type(op, call, loss_before, "loss_before", kScalar);
  check_positive(op, call.attributes, "classes", weight.shape[0]);
  check_positive(op, call.attributes, "chunk_rows", int64_t{1} << 20);
}

// Of one sample and class: a product, then maximum, difference, exponential and sum.
double flops(const OpCall& call, int products, int pointwise) {
  const Shape& weight = call.input(kWeight).shape;
  const double classes = static_cast<double>(call.attributes.integer_or("classes", weight[0]));
  const double samples = static_cast<double>(call.input(kTargets).shape.elements());
  return samples * classes * (2.0 * products * static_cast<double>(weight[1]) + pointwise);
}

class LinearCrossEntropy : public Op {
 public:
  std::string_view name() const override { return "linear_cross_entropy"; }

  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    check_operands(name(), call, kLossBefore);
    return {{.type = kScalar}};
  }
  std::optional<SampleRule> samples(const OpCall&) const override {
    return SampleRule{.inputs = {kX, kTargets}, .sums = {{0, kLossBefore}}};
  }

  void gradient(GradientContext& context) const override {
    if (!context.is_loss(0)) {
      throw Error(ErrorCode::config,
                  "node '" + context.forward().name +
                      "': linear_cross_entropy has a gradient only as the loss itself; take its output "
                      "as the loss and put factors into loss_weight");
    }
    const ValueId sum = context.needs_gradient(kWeight) ? context.accumulator(kWeight) : ValueId();
    const std::vector<ValueId> outputs =
        context.emit("linear_cross_entropy_grad", "grad",
                     {context.input(kX), context.input(kWeight), context.input(kTargets), context.input(kLossWeight),
                      sum, context.input(kLossBefore)},
                     context.forward().attributes);
    context.replace_output(0, outputs[0]);
    if (context.needs_gradient(kX)) context.add_gradient(kX, outputs[1]);
    if (sum.valid()) {
      context.set_accumulated(kWeight, outputs[2]);
    } else if (context.needs_gradient(kWeight)) {
      context.add_gradient(kWeight, outputs[2]);
    }
  }

  Cost cost(const OpCall& call) const override { return operand_cost(*this, call, flops(call, 1, 4)); }
};

class LinearCrossEntropyGrad : public Op {
 public:
  std::string_view name() const override { return "linear_cross_entropy_grad"; }

  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    check_operands(name(), call, kGradLossBefore);
    require_type(name(), call, kWeightGradient, "acc_dw", call.input(kWeight));
    return {
        {.type = kScalar, .suffix = "loss"},
        {.type = call.input(kX), .suffix = "dx", .may_share = {kX}},
        {.type = call.input(kWeight), .suffix = "dw", .category = Category::gradients, .overwrites = kWeightGradient}};
  }
  std::optional<SampleRule> samples(const OpCall&) const override {
    return SampleRule{.inputs = {kX, kTargets}, .outputs = {1}, .sums = {{0, kGradLossBefore}, {2, kWeightGradient}}};
  }

  Cost cost(const OpCall& call) const override { return operand_cost(*this, call, flops(call, 3, 7)); }
};

}  // namespace

// More than 128 rows gain nothing, 64 cost a tenth (every weight row is then read twice as often).
int64_t default_chunk_rows(int64_t vocabulary) {
  constexpr int64_t kLogitsBytes = 26'000'000, kLeast = 16, kMost = 128;
  const int64_t rows = kLogitsBytes / (vocabulary * static_cast<int64_t>(sizeof(float)));
  return std::clamp(rows / kLeast * kLeast, kLeast, kMost);
}

OpDefinition linear_cross_entropy_op() {
  return {std::make_unique<LinearCrossEntropy>(),
          {{"cpu:linear_cross_entropy", KernelDevice::cpu, make_linear_cross_entropy_cpu}}};
}

OpDefinition linear_cross_entropy_grad_op() {
  return {std::make_unique<LinearCrossEntropyGrad>(),
          {{"cpu:linear_cross_entropy_grad", KernelDevice::cpu, make_linear_cross_entropy_grad_cpu}}};
}

}  // namespace tidemark::ops
