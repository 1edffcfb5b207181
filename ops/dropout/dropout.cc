#include "ops/dropout/dropout.h"

#include "base/error.h"
#include "graph/autodiff.h"
#include "ops/dropout/dropout_kernels.h"
#include "ops/op_rules.h"

namespace tidemark::ops {
namespace {

// Ten rounds of two multiplications and four xors give four elements; one comparison and one multiplication each.
constexpr double kFlopsPerElement = 17;

class DropoutOp : public Op {
 public:
  std::string_view name() const override { return "dropout"; }

  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    require_inputs(name(), call, 3, 3);
    require_type(name(), call, 1, "sample_ids", {DType::i32, {call.input(0).shape.dim(0)}});
    require_type(name(), call, 2, "step_state", {DType::i32, {2}});
    const double p = call.attributes.real("p");
    if (!(p >= 0 && p < 1)) {
      throw Error(ErrorCode::config, "op 'dropout': p must be in [0, 1), given " + std::to_string(p));
    }
    call.attributes.integer("seed");
    call.attributes.integer("op_index");
    return {{.type = call.input(0), .may_share = {0}}};
  }

  void gradient(GradientContext& context) const override {
    if (!context.needs_gradient(0)) return;
    const Attributes& attributes = context.forward().attributes;
    const ValueId dy = context.output_gradient(0);
    context.add_gradient(0, context.emit("dropout", "dx", {dy, context.input(1), context.input(2)}, attributes)[0]);
  }

  std::optional<SampleRule> samples(const OpCall&) const override {
    return SampleRule{.inputs = {0, 1}, .outputs = {0}};
  }
  Cost cost(const OpCall& call) const override {
    return operand_cost(*this, call, kFlopsPerElement * static_cast<double>(call.input(0).shape.elements()));
  }
};

}  // namespace

OpDefinition dropout_op() {
  return {std::make_unique<DropoutOp>(), {{"cpu:dropout", KernelDevice::cpu, make_dropout_cpu}}};
}

}  // namespace tidemark::ops
