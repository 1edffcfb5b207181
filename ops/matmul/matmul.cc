#include "ops/matmul/matmul.h"

#include "base/error.h"
#include "ops/accumulate_gradient.h"
#include "ops/activation/activation_math.h"
#include "ops/matmul/matmul_kernels.h"
#include "ops/matmul/matmul_shape.h"
#include "ops/op_rules.h"

namespace tidemark::ops {
namespace {

std::string activation_of(const Attributes& attributes) {
  std::string name = attributes.text_or("activation", "none");
  if (name != "none" && name != "relu" && name != "gelu" && name != "pre") {
    throw Error(ErrorCode::config, "op 'matmul': activation '" + name + "' is not one of none, relu, gelu");
  }
  return name;
}

double product_flops(const MatmulShape& s) {
  return 2.0 * static_cast<double>(s.rows) * static_cast<double>(s.in) * static_cast<double>(s.out);
}

// The gradient of the pre-activation.
ValueId pre_activation_gradient(GradientContext& context) {
  const ValueId dy = context.output_gradient(0);
  const std::string activation = activation_of(context.forward().attributes);
  if (activation == "relu") return context.emit("relu_grad", "activation_grad", {context.output(0), dy})[0];
  if (activation == "gelu") return context.emit("gelu_grad", "activation_grad", {context.output(1), dy})[0];
  return dy;
}

// All of x: its first dimension is then no number of samples.
bool is_one_row(const MatmulShape& shape) { return shape.kept_dims == 0; }

class Matmul : public Op {
 public:
  std::string_view name() const override { return "matmul"; }

  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    const MatmulShape shape = matmul_shape(call);
    const ValueType type{call.input(0).dtype, output_shape(call.input(0).shape, shape)};
    std::vector<OutputSpec> outputs = {{.type = type}};
    if (activation_of(call.attributes) == "gelu") outputs.push_back({.type = type, .suffix = "pre"});
    return outputs;
  }

  void gradient(GradientContext& context) const override {
    if (context.forward().outputs.size() > 1 && context.output_gradient(1).valid()) {
      throw Error(ErrorCode::config, "op 'matmul': its output 'pre' has no gradient; only the activated one has");
    }
    const ValueId dz = pre_activation_gradient(context);
    const Attributes layout = {{"transpose_w", context.forward().attributes.boolean_or("transpose_w", true)}};
    if (context.needs_gradient(2)) emit_accumulating(context, 2, "sum_leading", "grad_bias", {dz});
    if (context.needs_gradient(1)) {
      emit_accumulating(context, 1, "matmul_grad_weight", "grad_weight", {context.input(0), dz}, layout);
    }
    if (context.needs_gradient(0)) {
      Attributes attributes = layout;
      attributes.set("x_shape", context.input_type(0).shape.dims());
      emit_accumulating(context, 0, "matmul_grad_input", "grad_input", {dz, context.input(1)}, attributes);
    }
  }

  std::optional<SampleRule> samples(const OpCall& call) const override {
    if (is_one_row(matmul_shape(call))) return std::nullopt;
    SampleRule rule{.inputs = {0}};
    for (size_t o = 0; o < outputs(call).size(); ++o) rule.outputs.push_back(o);
    return rule;
  }
  Cost cost(const OpCall& call) const override {
    const MatmulShape shape = matmul_shape(call);
    const std::string activation = activation_of(call.attributes);
    const double pointwise = (call.has(2) ? 1 : 0) + (activation == "gelu" ? kGeluFlops : activation == "relu" ? 1 : 0);
    return operand_cost(*this, call, product_flops(shape) + pointwise * static_cast<double>(shape.rows) * shape.out);
  }
};

// The product is dear, the activation is not.
std::vector<NodePart> split_matmul(const OpCall& call) {
  if (activation_of(call.attributes) != "gelu") return {};
  Attributes product = call.attributes;
  product.set("activation", "pre");
  NodePart matmul{.op = "matmul", .suffix = "", .attributes = product, .inputs = {}, .outputs = {1}};
  for (size_t i = 0; i < call.inputs.size(); ++i) matmul.inputs.push_back({.of_outputs = false, .index = i});
  return {matmul, {.op = "gelu", .suffix = "activation", .attributes = {}, .inputs = {{true, 1}}, .outputs = {0}}};
}

class MatmulGradInput : public Op {
 public:
  std::string_view name() const override { return "matmul_grad_input"; }
  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    matmul_grad_input_shape(call);
    OutputSpec dx{.type = {call.input(0).dtype, Shape(call.attributes.integers("x_shape"))}};
    if (call.has(2)) dx.overwrites = 2;
    return {dx};
  }
  std::optional<SampleRule> samples(const OpCall& call) const override {
    if (is_one_row(matmul_grad_input_shape(call))) return std::nullopt;
    return SampleRule{.inputs = {0, 2}, .outputs = {0}, .shape_attribute = "x_shape"};
  }
  Cost cost(const OpCall& call) const override {
    return operand_cost(*this, call, product_flops(matmul_grad_input_shape(call)));
  }
};

class MatmulGradWeight : public Op {
 public:
  std::string_view name() const override { return "matmul_grad_weight"; }
  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    const MatmulShape s = matmul_grad_weight_shape(call);
    OutputSpec dw{.type = {call.input(0).dtype, s.transpose_w ? Shape{s.out, s.in} : Shape{s.in, s.out}},
                  .category = Category::gradients};
    if (call.has(2)) dw.overwrites = 2;
    return {dw};
  }
  std::optional<SampleRule> samples(const OpCall& call) const override {
    if (is_one_row(matmul_grad_weight_shape(call))) return std::nullopt;
    return SampleRule{.inputs = {0, 1}, .sums = {{0, 2}}};
  }
  Cost cost(const OpCall& call) const override {
    return operand_cost(*this, call, product_flops(matmul_grad_weight_shape(call)));
  }
};

}  // namespace

OpDefinition matmul_op() { return {std::make_unique<Matmul>(), matmul_kernels(), split_matmul}; }

OpDefinition matmul_grad_input_op() { return {std::make_unique<MatmulGradInput>(), matmul_grad_input_kernels()}; }

OpDefinition matmul_grad_weight_op() { return {std::make_unique<MatmulGradWeight>(), matmul_grad_weight_kernels()}; }

}  // namespace tidemark::ops
