#include "ops/attention/attention.h"

#include "base/error.h"
#include "graph/autodiff.h"
#include "ops/attention/attention_cpu.h"
#include "ops/op_rules.h"

namespace tidemark::ops {
namespace {

struct Dims {
  int64_t batch, length, channels, heads;
};

Dims dims_of(std::string_view op, const OpCall& call) {
  const ValueType& qkv = call.input(0);
  const int64_t heads = call.attributes.integer("heads");
  if (heads < 1) {
    throw Error(ErrorCode::config,
                "op '" + std::string(op) + "', attribute 'heads': wanted at least 1, given " + std::to_string(heads));
  }
  if (qkv.shape.rank() != 3 || qkv.shape[2] % (3 * heads) != 0) {
    const std::string wanted =
        "[batch,length,3*channels] with channels a multiple of " + std::to_string(heads) + " heads";
    refuse_operand(op, "qkv", wanted, to_string(qkv));
  }
  return {qkv.shape[0], qkv.shape[1], qkv.shape[2] / 3, heads};
}

ValueType out_type(const OpCall& call, const Dims& d) { return {call.input(0).dtype, {d.batch, d.length, d.channels}}; }

ValueType lse_type(const Dims& d) { return {DType::f32, {d.batch, d.heads, d.length}}; }

// `products` of head_dim multiply-adds and `pointwise` operations for every score that counts.
double flops(const OpCall& call, const Dims& d, int products, int pointwise) {
  const double length = static_cast<double>(d.length);
  const double scores = call.attributes.boolean_or("causal", true) ? length * (length + 1) / 2 : length * length;
  return static_cast<double>(d.batch) * scores * static_cast<double>(2 * products * d.channels + pointwise * d.heads);
}

class Attention : public Op {
 public:
  std::string_view name() const override { return "attention"; }

  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    require_inputs(name(), call, 1, 1);
    const Dims d = dims_of(name(), call);
    return {{.type = out_type(call, d)}, {.type = lse_type(d), .suffix = "lse"}};
  }

  void gradient(GradientContext& context) const override {
    if (context.output_gradient(1).valid()) {
      throw Error(ErrorCode::config, "node '" + context.forward().name + "': attention has no gradient through 'lse'");
    }
    if (!context.needs_gradient(0)) return;
    const std::vector<ValueId> inputs = {context.input(0), context.output(0), context.output(1),
                                         context.output_gradient(0)};
    context.add_gradient(0, context.emit("attention_grad", "grad", inputs, context.forward().attributes)[0]);
  }

  std::optional<SampleRule> samples(const OpCall&) const override {
    return SampleRule{.inputs = {0}, .outputs = {0, 1}};
  }
  Cost cost(const OpCall& call) const override {
    return operand_cost(*this, call, flops(call, dims_of(name(), call), 2, 4));
  }
};

class AttentionGrad : public Op {
 public:
  std::string_view name() const override { return "attention_grad"; }

  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    require_inputs(name(), call, 4, 4);
    const Dims d = dims_of(name(), call);
    require_type(name(), call, 1, "out", out_type(call, d));
    require_type(name(), call, 2, "lse", lse_type(d));
    require_type(name(), call, 3, "dout", out_type(call, d));
    return {{.type = call.input(0)}};
  }

  std::optional<SampleRule> samples(const OpCall&) const override {
    return SampleRule{.inputs = {0, 1, 2, 3}, .outputs = {0}};
  }
  Cost cost(const OpCall& call) const override {
    return operand_cost(*this, call, flops(call, dims_of(name(), call), 5, 6));
  }
};

}  // namespace

OpDefinition attention_op() {
  return {std::make_unique<Attention>(), {{"cpu:attention", KernelDevice::cpu, make_attention_cpu}}};
}

OpDefinition attention_grad_op() {
  return {std::make_unique<AttentionGrad>(), {{"cpu:attention_grad", KernelDevice::cpu, make_attention_grad_cpu}}};
}

}  // namespace tidemark::ops
