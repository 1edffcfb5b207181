#include "graph/fake_ops.h"

#include <functional>

#include "base/error.h"
#include "graph/autodiff.h"

namespace tidemark::testing {
namespace {

using Outputs = std::vector<OutputSpec>;
using ShapeRule = std::function<Outputs(const OpCall&)>;
using GradientRule = std::function<void(GradientContext&)>;

class FakeOp : public Op {
 public:
  FakeOp(std::string name, ShapeRule shapes, GradientRule gradient)
      : name_(std::move(name)), shapes_(std::move(shapes)), gradient_(std::move(gradient)) {}

  std::string_view name() const override { return name_; }
  Outputs outputs(const OpCall& call) const override { return shapes_(call); }
  void gradient(GradientContext& context) const override { gradient_ ? gradient_(context) : Op::gradient(context); }
  Cost cost(const OpCall&) const override { return {}; }

 private:
  std::string name_;
  ShapeRule shapes_;
  GradientRule gradient_;
};

void require_same(const OpCall& call, size_t a, size_t b) {
  if (call.input(a) == call.input(b)) return;
  throw Error(ErrorCode::config,
              "input " + std::to_string(b) + " is " + to_string(call.input(b)) + ", not " + to_string(call.input(a)));
}

OutputSpec fresh(ValueType type, std::string suffix = "", Category category = Category::activations) {
  return {.type = std::move(type), .suffix = std::move(suffix), .category = category};
}

OutputSpec onto(size_t input, ValueType type, std::string suffix = "", Category category = Category::gradients) {
  return {.type = std::move(type), .suffix = std::move(suffix), .category = category, .overwrites = input};
}

ValueType f32_like(const OpCall& call, std::string_view attribute) {
  return {DType::f32, Shape(call.attributes.integers(attribute))};
}

Outputs like_first(const OpCall& call) { return {fresh(call.input(0))}; }

Outputs two_alike(const OpCall& call) {
  require_same(call, 0, 1);
  return {fresh(call.input(0))};
}

Outputs onto_first(const OpCall& call) {
  require_same(call, 0, 1);
  return {onto(0, call.input(0))};
}

// What a rule does with the sum of a gradient: adds onto it where it may.
void accumulate(GradientContext& context, size_t i, std::string_view op, std::string_view name,
                std::vector<ValueId> inputs) {
  if (!context.needs_gradient(i)) return;
  const ValueId sum = context.accumulator(i);
  inputs.push_back(sum);
  const ValueId d = context.emit(op, name, inputs, {{"like", context.input_type(i).shape.dims()}}).at(0);
  sum.valid() ? context.set_accumulated(i, d) : context.add_gradient(i, d);
}

void add_gradient(GradientContext& context) {
  context.add_gradient(0, context.output_gradient(0));
  context.add_gradient(1, context.output_gradient(0));
}

void product_gradient(GradientContext& context) {
  const ValueId dy = context.output_gradient(0);
  accumulate(context, 0, "product_grad", "dx", {dy, context.input(1)});
  accumulate(context, 1, "product_grad", "dw", {dy, context.input(0)});
}

void gate_gradient(GradientContext& context) {
  context.add_gradient(0, context.emit("gate_grad", "dx", {context.output_gradient(0), context.output(1)}).at(0));
}

void lookup_gradient(GradientContext& context) {
  accumulate(context, 1, "lookup_grad", "dtable", {context.output_gradient(0)});
}

void require_loss(const GradientContext& context) {
  if (!context.is_loss(0)) throw Error(ErrorCode::config, "the output is not the loss");
}

void total_gradient(GradientContext& context) {
  require_loss(context);
  context.add_gradient(0, context.emit("total_grad", "dx", {context.input(0)}).at(0));
}

void dot_gradient(GradientContext& context) {
  require_loss(context);
  context.add_gradient(0, context.input(1));
  context.add_gradient(1, context.input(0));
}

void fused_loss_gradient(GradientContext& context) {
  require_loss(context);
  const ValueId sum = context.accumulator(1);
  const auto outputs = context.emit("fused_loss_grad", "grad", {context.input(0), context.input(1), sum});
  context.replace_output(0, outputs.at(0));
  context.add_gradient(0, outputs.at(1));
  sum.valid() ? context.set_accumulated(1, outputs.at(2)) : context.add_gradient(1, outputs.at(2));
}

Outputs scalar(const OpCall&) { return {fresh({DType::f32, {1}})}; }

Outputs product_grad_outputs(const OpCall& call) { return {onto(2, f32_like(call, "like"))}; }

Outputs lookup_grad_outputs(const OpCall& call) { return {onto(1, f32_like(call, "like"))}; }

Outputs gate_outputs(const OpCall& call) {
  return {fresh(call.input(0)), fresh({DType::u8, call.input(0).shape}, "mask")};
}

Outputs fused_loss_grad_outputs(const OpCall& call) {
  return {fresh({DType::f32, {1}}, "loss"), fresh(call.input(0), "dx"), onto(2, call.input(1), "dw")};
}

}  // namespace

OpTable fake_ops() {
  OpTable table;
  const auto add = [&](std::string name, ShapeRule shapes, GradientRule gradient = nullptr) {
    table.add(std::make_unique<FakeOp>(std::move(name), std::move(shapes), std::move(gradient)));
  };
  add("add", two_alike, add_gradient);
  add("add_into", onto_first);
  add("product", like_first, product_gradient);
  add("product_grad", product_grad_outputs);
  add("gate", gate_outputs, gate_gradient);
  add("gate_grad", like_first);
  add(
      "lookup", [](const OpCall& call) { return Outputs{fresh(f32_like(call, "shape"))}; }, lookup_gradient);
  add("lookup_grad", lookup_grad_outputs);
  add("total", scalar, total_gradient);
  add("total_grad", like_first);
  add("dot", scalar, dot_gradient);
  add("fused_loss", scalar, fused_loss_gradient);
  add("fused_loss_grad", fused_loss_grad_outputs);
  add("update", onto_first);
  add("overwrite_as", [](const OpCall& call) { return Outputs{onto(0, f32_like(call, "dims"))}; });
  add("opaque", like_first);
  add("stop", like_first, [](GradientContext&) {});
  return table;
}

}  // namespace tidemark::testing
