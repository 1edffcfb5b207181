// Random zeros that hang on what is dropped, not on when or where it is computed.
//
// Note [Masks that are never stored]
// Whether an element stays is a function of (seed, step, sample, op_index, element) through a counter-based generator
// (base/philox.h), where `sample` is the sample's position in the step's global batch and `element` its index inside
// the sample. The backward pass therefore draws the mask again instead of keeping it, a recomputation gets the same
// mask, and neither micro-batch, nor rank, nor thread count changes it.
#pragma once

#include "ops/op_definition.h"

namespace tidemark::ops {

// dropout(x [B,..], sample_ids i32[B], step_state i32[2]) {p, seed, op_index} -> y, may share x; f32.
// Each element is 0 with probability p in [0, 1), else x / (1 - p). p = 0 copies. step_state holds the step's low and
// high 32 bits. The gradient is the same op on dy.
OpDefinition dropout_op();

}  // namespace tidemark::ops
