#include "ops/layer_norm/layer_norm.h"

#include "graph/autodiff.h"
#include "ops/layer_norm/layer_norm_kernels.h"
#include "ops/op_rules.h"

namespace tidemark::ops {
namespace {

double elements(const OpCall& call) { return static_cast<double>(call.input(0).shape.elements()); }

// Of x or dy: its first dimension is then no number of samples.
bool is_one_row(const OpCall& call) { return call.input(0).shape.rank() < 2; }

class LayerNorm : public Op {
 public:
  std::string_view name() const override { return "layer_norm"; }

  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    require_inputs(name(), call, 3, 3);
    const ValueType& x = call.input(0);
    if (x.shape.rank() < 1) refuse_operand(name(), "x", "[..,channels]", to_string(x));
    const Shape channels = {x.shape.dim(-1)};
    require_shape(name(), call, 1, "gamma", channels);
    require_shape(name(), call, 2, "beta", channels);
    call.attributes.real("eps");
    const ValueType statistic = {DType::f32, {leading_elements(x.shape)}};
    return {{.type = x}, {.type = statistic, .suffix = "mean"}, {.type = statistic, .suffix = "rstd"}};
  }

  void gradient(GradientContext& context) const override {
    std::vector<ValueId> inputs = {context.output_gradient(0), context.input(0), context.input(1), context.output(1),
                                   context.output(2)};
    for (size_t i = 0; i < 3; ++i) {
      inputs.push_back(context.needs_gradient(i) ? context.accumulator(i) : ValueId());
    }
    const std::vector<ValueId> gradients = context.emit("layer_norm_grad", "grad", inputs);
    for (size_t i = 0; i < 3; ++i) {
      if (inputs[5 + i].valid()) {
        context.set_accumulated(i, gradients[i]);
      } else if (context.needs_gradient(i)) {
        context.add_gradient(i, gradients[i]);
      }
    }
  }

  std::optional<SampleRule> samples(const OpCall& call) const override {
    if (is_one_row(call)) return std::nullopt;
    return SampleRule{.inputs = {0}, .outputs = {0, 1, 2}};
  }
  Cost cost(const OpCall& call) const override { return operand_cost(*this, call, 7 * elements(call)); }
};

class LayerNormGrad : public Op {
 public:
  std::string_view name() const override { return "layer_norm_grad"; }

  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    require_inputs(name(), call, 5, 8);
    const ValueType& x = call.input(1);
    if (x.shape.rank() < 1) refuse_operand(name(), "x", "[..,channels]", to_string(x));
    const ValueType statistic = {DType::f32, {leading_elements(x.shape)}};
    const ValueType gamma = {call.input(2).dtype, {x.shape.dim(-1)}};
    require_type(name(), call, 0, "dy", x);
    require_type(name(), call, 2, "gamma", gamma);
    require_type(name(), call, 3, "mean", statistic);
    require_type(name(), call, 4, "rstd", statistic);
    require_type(name(), call, 5, "acc_dx", x);
    require_type(name(), call, 6, "acc_dgamma", gamma);
    require_type(name(), call, 7, "acc_dbeta", gamma);
    OutputSpec dx = {.type = x, .suffix = "dx", .overwrites = 5};
    if (!call.has(5)) dx.may_share = {0};
    return {dx,
            {.type = gamma, .suffix = "dgamma", .category = Category::gradients, .overwrites = 6},
            {.type = gamma, .suffix = "dbeta", .category = Category::gradients, .overwrites = 7}};
  }

  std::optional<SampleRule> samples(const OpCall& call) const override {
    if (is_one_row(call)) return std::nullopt;
    return SampleRule{.inputs = {0, 1, 3, 4, 5}, .outputs = {0}, .sums = {{1, 6}, {2, 7}}};
  }
  Cost cost(const OpCall& call) const override { return operand_cost(*this, call, 13 * elements(call)); }
};

}  // namespace

OpDefinition layer_norm_op() { return {std::make_unique<LayerNorm>(), layer_norm_kernels()}; }

OpDefinition layer_norm_grad_op() { return {std::make_unique<LayerNormGrad>(), layer_norm_grad_kernels()}; }

}  // namespace tidemark::ops
