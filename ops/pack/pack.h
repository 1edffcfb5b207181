// pack(w) {bytes} -> u8[bytes]: a weight in the layout that a kernel asked for (Kernel::packed_inputs).
//
// The compiler inserts the node before the first reader and runs it with that reader's Kernel::pack, so that the op has
// no kernel of its own. The bytes are Category::packed; the values are those of w, so that it may run again at any time
// before w is updated.
#pragma once

#include "ops/op_definition.h"

namespace tidemark::ops {

OpDefinition pack_op();

}  // namespace tidemark::ops
