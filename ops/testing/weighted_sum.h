// The loss of gradient checks: an op that exists only in tests.
#pragma once

#include "ops/op_definition.h"

namespace tidemark::ops::testing {

// The given ops (which must outlive the result), add and add_into where they lack them, and
//   weighted_sum(y1, r1, y2, r2, ...) -> f32[1], the sum over pairs and elements of r * y; f32; the r get no gradient;
//   weighted_sum_grad(r) -> a copy of r, the gradient for y.
OpSet with_gradient_check_ops(const OpSet& ops);

}  // namespace tidemark::ops::testing
