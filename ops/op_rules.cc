#include "ops/op_rules.h"

#include "base/error.h"

namespace tidemark::ops {

void refuse_operand(std::string_view op, std::string_view operand, const std::string& wanted,
                    const std::string& given) {
  throw Error(ErrorCode::config, "op '" + std::string(op) + "', operand '" + std::string(operand) + "': wanted " +
                                     wanted + ", given " + given);
}

void require_inputs(std::string_view op, const OpCall& call, size_t least, size_t most) {
  const size_t given = call.inputs.size();
  if (given < least || given > most) {
    const std::string range =
        least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most);
    throw Error(ErrorCode::config,
                "op '" + std::string(op) + "': wanted " + range + " operands, given " + std::to_string(given));
  }
  for (size_t i = 0; i < least; ++i) call.input(i);
}

void require_type(std::string_view op, const OpCall& call, size_t i, std::string_view operand,
                  const ValueType& wanted) {
  if (call.has(i) && call.input(i) != wanted) refuse_operand(op, operand, to_string(wanted), to_string(call.input(i)));
}

void require_dtype(std::string_view op, const OpCall& call, size_t i, std::string_view operand, DType wanted) {
  if (!call.has(i) || call.input(i).dtype == wanted) return;
  refuse_operand(op, operand, std::string(to_string(wanted)), to_string(call.input(i)));
}

void require_shape(std::string_view op, const OpCall& call, size_t i, std::string_view operand, const Shape& wanted) {
  if (call.has(i) && call.input(i).shape != wanted) {
    refuse_operand(op, operand, "shape " + to_string(wanted), to_string(call.input(i)));
  }
}

bool floats_are_f32(const OpCall& call, std::string& why_not) {
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.has(i) || call.input(i).dtype != DType::bf16) continue;
    why_not = "takes f32, operand " + std::to_string(i) + " is " + to_string(call.input(i));
    return false;
  }
  return true;
}

int64_t leading_elements(const Shape& shape) {
  int64_t count = 1;
  for (size_t i = 0; i + 1 < shape.rank(); ++i) count *= shape[i];
  return count;
}

Cost operand_cost(const Op& op, const OpCall& call, double flops) {
  Cost cost{.flops = flops};
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.has(i)) cost.bytes_read += call.input(i).bytes();
  }
  for (const OutputSpec& output : op.outputs(call)) cost.bytes_written += output.type.bytes();
  return cost;
}

}  // namespace tidemark::ops
