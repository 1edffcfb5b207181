#include "ops/lstm/lstm.h"

#include "base/error.h"
#include "ops/accumulate_gradient.h"
#include "ops/lstm/lstm_kernels.h"
#include "ops/op_rules.h"

namespace tidemark::ops {
namespace {

struct Dims {
  int64_t rows, hidden, batch;

  ValueType outputs(DType dtype) const { return {dtype, {rows, hidden}}; }
  ValueType gates(DType dtype) const { return {dtype, {rows, 4 * hidden}}; }
  ValueType weight(DType dtype) const { return {dtype, {4 * hidden, hidden}}; }
  // Products with the recurrent weight, of which the first step has none, and `pointwise` operations a unit.
  double flops(int pointwise) const {
    const double units = static_cast<double>(hidden), after_first = static_cast<double>(rows - batch);
    return 8 * after_first * units * units + pointwise * static_cast<double>(rows) * units;
  }
};

// `of_four`: the operand is [rows,4H], else [rows,H].
Dims dims_of(std::string_view op, const OpCall& call, size_t i, std::string_view operand, bool of_four,
             size_t lengths) {
  const ValueType& rows = call.input(i);
  const int64_t gates = of_four ? 4 : 1;
  if (rows.shape.rank() != 2 || rows.shape[1] % gates != 0 || rows.shape[1] == 0) {
    refuse_operand(op, operand, of_four ? "[rows,4*hidden]" : "[rows,hidden]", to_string(rows));
  }
  const ValueType& given = call.input(lengths);
  if (given.dtype != DType::i32 || given.shape.rank() != 1 || given.shape[0] < 1 || given.shape[0] > rows.shape[0]) {
    refuse_operand(op, "lengths", "i32[1 to " + std::to_string(rows.shape[0]) + "]", to_string(given));
  }
  return {rows.shape[0], rows.shape[1] / gates, given.shape[0]};
}

class Lstm : public Op {
 public:
  std::string_view name() const override { return "lstm"; }

  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    require_inputs(name(), call, 3, 3);
    const Dims d = dims_of(name(), call, 0, "x", true, 2);
    const ValueType& x = call.input(0);
    require_type(name(), call, 1, "w", d.weight(x.dtype));
    return {{.type = d.outputs(x.dtype)},
            {.type = x, .suffix = "gates", .may_share = {0}},
            {.type = d.outputs(x.dtype), .suffix = "cells"}};
  }

  void gradient(GradientContext& context) const override {
    if (context.output_gradient(1).valid() || context.output_gradient(2).valid()) {
      throw Error(ErrorCode::config,
                  "node '" + context.forward().name + "': lstm has no gradient through 'gates' and 'cells'");
    }
    if (!context.needs_gradient(0) && !context.needs_gradient(1)) return;
    const ValueId lengths = context.input(2);
    const ValueId dx =
        context.emit("lstm_grad", "grad",
                     {context.output_gradient(0), context.output(1), context.output(2), context.input(1), lengths})[0];
    if (context.needs_gradient(1)) {
      emit_accumulating(context, 1, "lstm_grad_weight", "grad_weight", {context.output(0), dx, lengths});
    }
    if (context.needs_gradient(0)) context.add_gradient(0, dx);
  }

  // Three logistic functions of 4, a sum a gate, two hyperbolic tangents counted as 1, the cell 3, the output 1.
  Cost cost(const OpCall& call) const override {
    return operand_cost(*this, call, dims_of(name(), call, 0, "x", true, 2).flops(22));
  }
};

class LstmGrad : public Op {
 public:
  std::string_view name() const override { return "lstm_grad"; }

  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    require_inputs(name(), call, 5, 5);
    const Dims d = dims_of(name(), call, 1, "gates", true, 4);
    const ValueType& gates = call.input(1);
    require_type(name(), call, 0, "dh", d.outputs(gates.dtype));
    require_type(name(), call, 2, "cells", d.outputs(gates.dtype));
    require_type(name(), call, 3, "w", d.weight(gates.dtype));
    return {{.type = gates, .may_share = {1}}};
  }

  // Four gates of 4, the hyperbolic tangent 1, dh 1, dc 5, the carry 1.
  Cost cost(const OpCall& call) const override {
    return operand_cost(*this, call, dims_of(name(), call, 1, "gates", true, 4).flops(24));
  }
};

class LstmGradWeight : public Op {
 public:
  std::string_view name() const override { return "lstm_grad_weight"; }

  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    require_inputs(name(), call, 3, 4);
    const Dims d = dims_of(name(), call, 0, "h", false, 2);
    const DType dtype = call.input(0).dtype;
    require_type(name(), call, 1, "dx", d.gates(dtype));
    require_type(name(), call, 3, "acc", d.weight(dtype));
    return {{.type = d.weight(dtype), .category = Category::gradients, .overwrites = 3}};
  }

  Cost cost(const OpCall& call) const override {
    return operand_cost(*this, call, dims_of(name(), call, 0, "h", false, 2).flops(0));
  }
};

}  // namespace

OpDefinition lstm_op() { return {std::make_unique<Lstm>(), {{"cpu:lstm", KernelDevice::cpu, make_lstm_cpu}}}; }

OpDefinition lstm_grad_op() {
  return {std::make_unique<LstmGrad>(), {{"cpu:lstm_grad", KernelDevice::cpu, make_lstm_grad_cpu}}};
}

OpDefinition lstm_grad_weight_op() {
  return {std::make_unique<LstmGradWeight>(), {{"cpu:lstm_grad_weight", KernelDevice::cpu, make_lstm_grad_weight_cpu}}};
}

}  // namespace tidemark::ops
