// Sums of two tensors of one shape.
#pragma once

#include "ops/op_definition.h"

namespace tidemark::ops {

// add(a, b) -> a + b, may take the bytes of either. f32. The gradient of both is the output's.
OpDefinition add_op();

// add_into(acc, x) -> acc + x in the bytes of acc (its next version). f32. Emitted by autodiff; no gradient.
OpDefinition add_into_op();

}  // namespace tidemark::ops
