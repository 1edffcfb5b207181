// Checks and sums that shape rules and costs share. All checks throw Error(config) that names op, operand, wanted and
// given.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "graph/op.h"

namespace tidemark::ops {

// Between `least` and `most` operands are given, and the first `least` are present.
void require_inputs(std::string_view op, const OpCall& call, size_t least, size_t most);

// Input i, when it is present, has exactly this type, dtype or shape.
void require_type(std::string_view op, const OpCall& call, size_t i, std::string_view operand, const ValueType& wanted);
void require_dtype(std::string_view op, const OpCall& call, size_t i, std::string_view operand, DType wanted);
void require_shape(std::string_view op, const OpCall& call, size_t i, std::string_view operand, const Shape& wanted);

// Error(config) "op 'add', operand 'b': wanted f32[2,3], given f32[3,2]".
[[noreturn]] void refuse_operand(std::string_view op, std::string_view operand, const std::string& wanted,
                                 const std::string& given);

// For kernels: true if every operand of a floating-point dtype is f32; else the reason goes to why_not.
bool floats_are_f32(const OpCall& call, std::string& why_not);

// Product of all dimensions but the last.
int64_t leading_elements(const Shape& shape);

// The cost of an op that reads every operand once and writes every output once.
Cost operand_cost(const Op& op, const OpCall& call, double flops);

}  // namespace tidemark::ops
