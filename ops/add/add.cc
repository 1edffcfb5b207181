#include "ops/add/add.h"

#include "graph/autodiff.h"
#include "ops/add/add_kernels.h"
#include "ops/op_rules.h"

namespace tidemark::ops {
namespace {

double one_flop_an_element(const OpCall& call) { return static_cast<double>(call.input(0).shape.elements()); }

class AddOp : public Op {
 public:
  std::string_view name() const override { return "add"; }
  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    require_inputs(name(), call, 2, 2);
    require_type(name(), call, 1, "b", call.input(0));
    return {{.type = call.input(0), .may_share = {0, 1}}};
  }
  void gradient(GradientContext& context) const override {
    for (size_t i = 0; i < 2; ++i) {
      if (context.needs_gradient(i)) context.add_gradient(i, context.output_gradient(0));
    }
  }
  std::optional<SampleRule> samples(const OpCall&) const override {
    return SampleRule{.inputs = {0, 1}, .outputs = {0}};
  }
  Cost cost(const OpCall& call) const override { return operand_cost(*this, call, one_flop_an_element(call)); }
};

class AddIntoOp : public Op {
 public:
  std::string_view name() const override { return "add_into"; }
  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    require_inputs(name(), call, 2, 2);
    require_type(name(), call, 1, "x", call.input(0));
    return {{.type = call.input(0), .category = Category::gradients, .overwrites = 0}};
  }
  std::optional<SampleRule> samples(const OpCall&) const override {
    return SampleRule{.inputs = {0, 1}, .outputs = {0}};
  }
  Cost cost(const OpCall& call) const override { return operand_cost(*this, call, one_flop_an_element(call)); }
};

}  // namespace

OpDefinition add_op() { return {std::make_unique<AddOp>(), add_kernels()}; }

OpDefinition add_into_op() { return {std::make_unique<AddIntoOp>(), add_kernels()}; }

}  // namespace tidemark::ops
