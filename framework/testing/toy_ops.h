// A few ops with obvious arithmetic, for tests of the compiler and the executor that are not about any real op.
#pragma once

#include "ops/op_definition.h"

namespace tidemark::testing {

// double_it(x) -> y = 2 x, may share x.           sum(a, b) -> a + b, may share a or b.
// descend(p, g) -> p' = p - g, overwrites p; runs once.
// scratch(x) -> y = x through a workspace of the same size.
// packed(x, w) -> y = x + w, where w is wanted packed as -w.
// Faulty ones, for memory.debug:  spill(x) writes one float behind its output;  forget(x) does not write its output.
ops::OpSet toy_ops();

}  // namespace tidemark::testing
