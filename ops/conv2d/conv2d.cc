#include "ops/conv2d/conv2d.h"

#include "ops/accumulate_gradient.h"
#include "ops/conv2d/conv2d_kernels.h"
#include "ops/conv2d/conv2d_shape.h"
#include "ops/op_rules.h"

namespace tidemark::ops {
namespace {

class Conv2d : public Op {
 public:
  std::string_view name() const override { return "conv2d"; }

  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    return {{.type = {call.input(0).dtype, conv2d_shape(call).y()}}};
  }

  void gradient(GradientContext& context) const override {
    const ValueId dy = context.output_gradient(0);
    const Attributes& forward = context.forward().attributes;
    const Attributes window = {{"stride", forward.integer_or("stride", 1)}, {"pad", forward.integer_or("pad", 0)}};
    if (context.needs_gradient(2)) emit_accumulating(context, 2, "sum_leading", "grad_bias", {dy});
    if (context.needs_gradient(1)) {
      Attributes attributes = window;
      attributes.set("w_shape", context.input_type(1).shape.dims());
      emit_accumulating(context, 1, "conv2d_grad_weight", "grad_weight", {context.input(0), dy}, attributes);
    }
    if (context.needs_gradient(0)) {
      Attributes attributes = window;
      attributes.set("x_shape", context.input_type(0).shape.dims());
      context.add_gradient(0, context.emit("conv2d_grad_input", "grad_input", {dy, context.input(1)}, attributes)[0]);
    }
  }

  std::optional<SampleRule> samples(const OpCall&) const override { return SampleRule{.inputs = {0}, .outputs = {0}}; }
  Cost cost(const OpCall& call) const override {
    const Conv2dShape shape = conv2d_shape(call);
    const double bias = call.has(2) ? static_cast<double>(shape.y().elements()) : 0.0;
    return operand_cost(*this, call, shape.flops() + bias);
  }
};

class Conv2dGradInput : public Op {
 public:
  std::string_view name() const override { return "conv2d_grad_input"; }
  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    return {{.type = {call.input(0).dtype, conv2d_grad_input_shape(call).x()}}};
  }
  std::optional<SampleRule> samples(const OpCall&) const override {
    return SampleRule{.inputs = {0}, .outputs = {0}, .shape_attribute = "x_shape"};
  }
  Cost cost(const OpCall& call) const override {
    return operand_cost(*this, call, conv2d_grad_input_shape(call).flops());
  }
};

class Conv2dGradWeight : public Op {
 public:
  std::string_view name() const override { return "conv2d_grad_weight"; }
  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    OutputSpec dw{.type = {call.input(0).dtype, conv2d_grad_weight_shape(call).w()}, .category = Category::gradients};
    if (call.has(2)) dw.overwrites = 2;
    return {dw};
  }
  std::optional<SampleRule> samples(const OpCall&) const override {
    return SampleRule{.inputs = {0, 1}, .sums = {{0, 2}}};
  }
  Cost cost(const OpCall& call) const override {
    return operand_cost(*this, call, conv2d_grad_weight_shape(call).flops());
  }
};

}  // namespace

OpDefinition conv2d_op() { return {std::make_unique<Conv2d>(), conv2d_kernels()}; }

OpDefinition conv2d_grad_input_op() { return {std::make_unique<Conv2dGradInput>(), conv2d_grad_input_kernels()}; }

OpDefinition conv2d_grad_weight_op() { return {std::make_unique<Conv2dGradWeight>(), conv2d_grad_weight_kernels()}; }

}  // namespace tidemark::ops
