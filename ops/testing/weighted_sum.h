// The loss of gradient checks: an op that exists only in tests.
#pragma once

#include "ops/op_definition.h"

namespace tidemark::ops::testing {

// weighted_sum(y1, r1, y2, r2, ...) -> f32[1], the sum over pairs and elements of r * y; f32. The r get no gradient.
OpDefinition weighted_sum_op();
// weighted_sum_grad(r) -> a copy of r, the gradient for y.
OpDefinition weighted_sum_grad_op();

// The given ops (which must outlive the result) and the two above.
OpSet with_weighted_sum(const OpSet& ops);

}  // namespace tidemark::ops::testing
