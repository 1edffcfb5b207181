// Reductions of gradients. None has a gradient itself; all sum in an order that hangs on shapes alone, not on threads.
#pragma once

#include "ops/op_definition.h"

namespace tidemark::ops {

// sum_leading(x [..,C], acc? [C]) -> [C], the sum over all but the last dimension; on acc, acc + that sum. f32.
OpDefinition sum_leading_op();

// squared_norm(x) -> f32[1], the sum of squares of an f32 tensor, added up in double.
OpDefinition squared_norm_op();

// clip_scale(n1, n2, ...) {max_norm} -> scale f32[1], norm f32[1] (suffix "norm"): norm = sqrt(n1 + n2 + ...) of
// squared norms, scale = min(1, max_norm / norm), what gradients are multiplied by so that their norm is at most
// max_norm.
OpDefinition clip_scale_op();

}  // namespace tidemark::ops
