#include "ops/pool2d/pool2d.h"

#include "graph/autodiff.h"
#include "ops/op_rules.h"
#include "ops/pool2d/pool2d_kernels.h"
#include "ops/pool2d/pool_shape.h"

namespace tidemark::ops {
namespace {

double window_flops(const MaxPoolSizes& s) {
  return static_cast<double>(y_shape(s).elements()) * static_cast<double>(s.window * s.window);
}

class MaxPool2d : public Op {
 public:
  std::string_view name() const override { return "max_pool2d"; }
  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    const Shape y = y_shape(max_pool2d_sizes(call));
    return {{.type = {call.input(0).dtype, y}}, {.type = {DType::u8, y}, .suffix = "indices"}};
  }
  void gradient(GradientContext& context) const override {
    if (!context.needs_gradient(0)) return;
    Attributes attributes = context.forward().attributes;
    attributes.set("x_shape", context.input_type(0).shape.dims());
    context.add_gradient(
        0, context.emit("max_pool2d_grad", "grad", {context.output_gradient(0), context.output(1)}, attributes)[0]);
  }
  std::optional<SampleRule> samples(const OpCall&) const override {
    return SampleRule{.inputs = {0}, .outputs = {0, 1}};
  }
  Cost cost(const OpCall& call) const override {
    return operand_cost(*this, call, window_flops(max_pool2d_sizes(call)));
  }
};

class MaxPool2dGrad : public Op {
 public:
  std::string_view name() const override { return "max_pool2d_grad"; }
  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    return {{.type = {call.input(0).dtype, x_shape(max_pool2d_grad_sizes(call))}}};
  }
  std::optional<SampleRule> samples(const OpCall&) const override {
    return SampleRule{.inputs = {0, 1}, .outputs = {0}, .shape_attribute = "x_shape"};
  }
  Cost cost(const OpCall& call) const override {
    return operand_cost(*this, call, window_flops(max_pool2d_grad_sizes(call)));
  }
};

class GlobalAvgPool2d : public Op {
 public:
  std::string_view name() const override { return "global_avg_pool2d"; }
  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    const GlobalPoolSizes s = global_avg_pool2d_sizes(call);
    return {{.type = {call.input(0).dtype, {s.batch, s.channels}}}};
  }
  void gradient(GradientContext& context) const override {
    if (!context.needs_gradient(0)) return;
    const Attributes attributes = {{"x_shape", context.input_type(0).shape.dims()}};
    context.add_gradient(0,
                         context.emit("global_avg_pool2d_grad", "grad", {context.output_gradient(0)}, attributes)[0]);
  }
  std::optional<SampleRule> samples(const OpCall&) const override { return SampleRule{.inputs = {0}, .outputs = {0}}; }
  Cost cost(const OpCall& call) const override {
    return operand_cost(*this, call, static_cast<double>(call.input(0).shape.elements()));
  }
};

class GlobalAvgPool2dGrad : public Op {
 public:
  std::string_view name() const override { return "global_avg_pool2d_grad"; }
  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    global_avg_pool2d_grad_sizes(call);
    return {{.type = {call.input(0).dtype, Shape(call.attributes.integers("x_shape"))}}};
  }
  std::optional<SampleRule> samples(const OpCall&) const override {
    return SampleRule{.inputs = {0}, .outputs = {0}, .shape_attribute = "x_shape"};
  }
  Cost cost(const OpCall& call) const override {
    return operand_cost(*this, call, static_cast<double>(call.input(0).shape.elements()));
  }
};

}  // namespace

OpDefinition global_avg_pool2d_op() { return {std::make_unique<GlobalAvgPool2d>(), global_avg_pool2d_kernels()}; }

OpDefinition global_avg_pool2d_grad_op() {
  return {std::make_unique<GlobalAvgPool2dGrad>(), global_avg_pool2d_grad_kernels()};
}

OpDefinition max_pool2d_op() { return {std::make_unique<MaxPool2d>(), max_pool2d_kernels()}; }

OpDefinition max_pool2d_grad_op() { return {std::make_unique<MaxPool2dGrad>(), max_pool2d_grad_kernels()}; }

}  // namespace tidemark::ops
