#include "ops/embedding/embedding.h"

#include "base/error.h"
#include "ops/accumulate_gradient.h"
#include "ops/embedding/embedding_kernels.h"
#include "ops/op_rules.h"

namespace tidemark::ops {
namespace {

void require_rank(std::string_view op, const OpCall& call, size_t i, std::string_view operand, size_t rank) {
  if (call.input(i).shape.rank() == rank) return;
  refuse_operand(op, operand, std::to_string(rank) + " dimensions", to_string(call.input(i)));
}

// The least type of a table of positions that has a row for each of the sequence's T positions.
void require_positions(const OpCall& call, int64_t columns) {
  if (!call.has(2)) return;
  require_rank("embedding", call, 2, "positions", 2);
  const Shape& shape = call.input(2).shape;
  if (shape[0] < call.input(0).shape.dim(-1) || shape[1] != columns) {
    const Shape least{call.input(0).shape.dim(-1), columns};
    refuse_operand("embedding", "positions", "at least " + to_string(least), to_string(call.input(2)));
  }
}

class EmbeddingOp : public Op {
 public:
  std::string_view name() const override { return "embedding"; }

  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    require_inputs(name(), call, 2, 3);
    require_dtype(name(), call, 0, "tokens", DType::i32);
    require_rank(name(), call, 1, "table", 2);
    const int64_t columns = call.input(1).shape[1];
    require_positions(call, columns);
    std::vector<int64_t> dims = call.input(0).shape.dims();
    dims.push_back(columns);
    return {{.type = {call.input(1).dtype, Shape(dims)}}};
  }

  void gradient(GradientContext& context) const override {
    const ValueId dy = context.output_gradient(0);
    const auto rows = [&](size_t i) { return Attributes{{"rows", context.input_type(i).shape[0]}}; };
    if (context.needs_gradient(1)) {
      emit_accumulating(context, 1, "embedding_grad", "dtable", {context.input(0), dy}, rows(1));
    }
    if (context.needs_gradient(2)) emit_accumulating(context, 2, "position_grad", "dpositions", {dy}, rows(2));
  }

  // Of one sequence alone the first dimension counts its tokens.
  std::optional<SampleRule> samples(const OpCall& call) const override {
    if (call.input(0).shape.rank() < 2) return std::nullopt;
    return SampleRule{.inputs = {0}, .outputs = {0}};
  }
  Cost cost(const OpCall& call) const override {
    const ValueType out = outputs(call)[0].type;
    Cost cost{.bytes_read = call.input(0).bytes() + out.bytes(), .bytes_written = out.bytes()};
    if (call.has(2)) {
      cost.flops = static_cast<double>(out.shape.elements());
      cost.bytes_read += call.input(0).shape.dim(-1) * call.input(2).shape[1] * size_bytes(call.input(2).dtype);
    }
    return cost;
  }
};

class EmbeddingGradOp : public Op {
 public:
  std::string_view name() const override { return "embedding_grad"; }

  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    require_inputs(name(), call, 2, 3);
    require_dtype(name(), call, 0, "tokens", DType::i32);
    const ValueType& dy = call.input(1);
    std::vector<int64_t> dims = call.input(0).shape.dims();
    dims.push_back(dy.shape.dim(-1));
    require_shape(name(), call, 1, "dy", Shape(dims));
    const ValueType table{dy.dtype, {call.attributes.integer("rows"), dy.shape.dim(-1)}};
    require_type(name(), call, 2, "acc", table);
    return {{.type = table, .category = Category::gradients, .overwrites = 2}};
  }

  // Of one sequence alone the first dimension counts its tokens.
  std::optional<SampleRule> samples(const OpCall& call) const override {
    if (call.input(0).shape.rank() < 2) return std::nullopt;
    return SampleRule{.inputs = {0, 1}, .sums = {{0, 2}}};
  }
  Cost cost(const OpCall& call) const override {
    const int64_t dy_bytes = call.input(1).bytes();
    Cost cost{.flops = static_cast<double>(call.input(1).shape.elements())};
    cost.bytes_read = call.input(0).bytes() + dy_bytes + (call.has(2) ? dy_bytes : 0);
    cost.bytes_written = call.has(2) ? dy_bytes : outputs(call)[0].type.bytes();
    return cost;
  }
};

class PositionGradOp : public Op {
 public:
  std::string_view name() const override { return "position_grad"; }

  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    require_inputs(name(), call, 1, 2);
    const ValueType& dy = call.input(0);
    const ValueType table{dy.dtype, {call.attributes.integer("rows"), dy.shape.dim(-1)}};
    if (table.shape[0] < dy.shape.dim(-2)) {
      refuse_operand(name(), "dy", "at most " + std::to_string(table.shape[0]) + " positions", to_string(dy));
    }
    require_type(name(), call, 1, "acc", table);
    return {{.type = table, .category = Category::gradients, .overwrites = 1}};
  }

  // Of one sequence alone the first dimension counts its tokens.
  std::optional<SampleRule> samples(const OpCall& call) const override {
    if (call.input(0).shape.rank() < 3) return std::nullopt;
    return SampleRule{.inputs = {0}, .sums = {{0, 1}}};
  }
  Cost cost(const OpCall& call) const override {
    const ValueType& dy = call.input(0);
    const int64_t touched = dy.shape.dim(-2) * dy.shape.dim(-1) * size_bytes(dy.dtype);
    Cost cost{.flops = static_cast<double>(dy.shape.elements())};
    cost.bytes_read = dy.bytes() + (call.has(1) ? touched : 0);
    cost.bytes_written = call.has(1) ? touched : outputs(call)[0].type.bytes();
    return cost;
  }
};

}  // namespace

OpDefinition embedding_op() {
  return {std::make_unique<EmbeddingOp>(), {{"cpu:embedding", KernelDevice::cpu, make_embedding_cpu}}};
}

OpDefinition embedding_grad_op() {
  return {std::make_unique<EmbeddingGradOp>(), {{"cpu:embedding_grad", KernelDevice::cpu, make_embedding_grad_cpu}}};
}

OpDefinition position_grad_op() {
  return {std::make_unique<PositionGradOp>(), {{"cpu:position_grad", KernelDevice::cpu, make_position_grad_cpu}}};
}

}  // namespace tidemark::ops
