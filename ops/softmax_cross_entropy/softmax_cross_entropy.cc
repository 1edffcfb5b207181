#include "ops/softmax_cross_entropy/softmax_cross_entropy.h"

#include "base/error.h"
#include "graph/autodiff.h"
#include "ops/op_rules.h"
#include "ops/softmax_cross_entropy/softmax_cross_entropy_kernels.h"

namespace tidemark::ops {
namespace {

const ValueType kScalar{DType::f32, {1}};

// An exponential counted as 1.
constexpr double kFlopsPerLogit = 4;

void require_operands(std::string_view op, const OpCall& call, size_t most_inputs) {
  require_inputs(op, call, 3, most_inputs);
  std::vector<int64_t> rows = call.input(0).shape.dims();
  if (rows.size() < 2) refuse_operand(op, "logits", "at least 2 dimensions", to_string(call.input(0)));
  rows.pop_back();
  require_type(op, call, 1, "labels", {DType::i32, Shape(rows)});
  require_type(op, call, 2, "loss_weight", kScalar);
}

double flops(const OpCall& call) { return kFlopsPerLogit * static_cast<double>(call.input(0).shape.elements()); }

class SoftmaxCrossEntropyOp : public Op {
 public:
  std::string_view name() const override { return "softmax_cross_entropy"; }

  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    require_operands(name(), call, 4);
    require_type(name(), call, 3, "loss_before", kScalar);
    return {{.type = kScalar}, {.type = kScalar, .suffix = "correct"}};
  }

  void gradient(GradientContext& context) const override {
    if (!context.is_loss(0)) {
      throw Error(ErrorCode::config, "op 'softmax_cross_entropy', node '" + context.forward().name +
                                         "': has a gradient only where its output is the loss itself");
    }
    if (!context.needs_gradient(0)) return;
    const std::vector<ValueId> inputs = {context.input(0), context.input(1), context.input(2)};
    context.add_gradient(0, context.emit("softmax_cross_entropy_grad", "dlogits", inputs)[0]);
  }

  std::optional<SampleRule> samples(const OpCall&) const override {
    return SampleRule{.inputs = {0, 1}, .sums = {{0, 3}, {1, std::nullopt}}};
  }
  Cost cost(const OpCall& call) const override { return operand_cost(*this, call, flops(call)); }
};

class SoftmaxCrossEntropyGradOp : public Op {
 public:
  std::string_view name() const override { return "softmax_cross_entropy_grad"; }

  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    require_operands(name(), call, 3);
    return {{.type = call.input(0), .may_share = {0}}};
  }

  std::optional<SampleRule> samples(const OpCall&) const override {
    return SampleRule{.inputs = {0, 1}, .outputs = {0}};
  }
  Cost cost(const OpCall& call) const override { return operand_cost(*this, call, flops(call)); }
};

}  // namespace

OpDefinition softmax_cross_entropy_op() {
  return {std::make_unique<SoftmaxCrossEntropyOp>(),
          {{"cpu:softmax_cross_entropy", KernelDevice::cpu, make_softmax_cross_entropy_cpu}}};
}

OpDefinition softmax_cross_entropy_grad_op() {
  return {std::make_unique<SoftmaxCrossEntropyGradOp>(),
          {{"cpu:softmax_cross_entropy_grad", KernelDevice::cpu, make_softmax_cross_entropy_grad_cpu}}};
}

}  // namespace tidemark::ops
