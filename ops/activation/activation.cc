#include "ops/activation/activation.h"

#include "graph/autodiff.h"
#include "ops/activation/activation_kernels.h"
#include "ops/activation/activation_math.h"
#include "ops/op_rules.h"

namespace tidemark::ops {
namespace {

double elements(const OpCall& call) { return static_cast<double>(call.input(0).shape.elements()); }

class Activation : public Op {
 public:
  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    require_inputs(name(), call, 1, 1);
    return {{.type = call.input(0), .may_share = {0}}};
  }
  std::optional<SampleRule> samples(const OpCall&) const override { return SampleRule{.inputs = {0}, .outputs = {0}}; }
};

class Relu : public Activation {
 public:
  std::string_view name() const override { return "relu"; }
  void gradient(GradientContext& context) const override {
    if (!context.needs_gradient(0)) return;
    context.add_gradient(0, context.emit("relu_grad", "grad", {context.output(0), context.output_gradient(0)})[0]);
  }
  Cost cost(const OpCall& call) const override { return operand_cost(*this, call, elements(call)); }
};

class Gelu : public Activation {
 public:
  std::string_view name() const override { return "gelu"; }
  void gradient(GradientContext& context) const override {
    if (!context.needs_gradient(0)) return;
    context.add_gradient(0, context.emit("gelu_grad", "grad", {context.input(0), context.output_gradient(0)})[0]);
  }
  Cost cost(const OpCall& call) const override { return operand_cost(*this, call, kGeluFlops * elements(call)); }
};

class ActivationGrad : public Op {
 public:
  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    require_inputs(name(), call, 2, 2);
    require_type(name(), call, 1, "dy", call.input(0));
    return {{.type = call.input(1), .may_share = {1}}};
  }
  std::optional<SampleRule> samples(const OpCall&) const override {
    return SampleRule{.inputs = {0, 1}, .outputs = {0}};
  }
};

class ReluGrad : public ActivationGrad {
 public:
  std::string_view name() const override { return "relu_grad"; }
  Cost cost(const OpCall& call) const override { return operand_cost(*this, call, elements(call)); }
};

class GeluGrad : public ActivationGrad {
 public:
  std::string_view name() const override { return "gelu_grad"; }
  Cost cost(const OpCall& call) const override { return operand_cost(*this, call, kGeluGradFlops * elements(call)); }
};

}  // namespace

OpDefinition gelu_op() { return {std::make_unique<Gelu>(), gelu_kernels()}; }

OpDefinition gelu_grad_op() { return {std::make_unique<GeluGrad>(), gelu_grad_kernels()}; }

OpDefinition relu_op() { return {std::make_unique<Relu>(), relu_kernels()}; }

OpDefinition relu_grad_op() { return {std::make_unique<ReluGrad>(), relu_grad_kernels()}; }

}  // namespace tidemark::ops
