// Sets every element of a value to one number, in place.
#pragma once

#include "ops/op_definition.h"

namespace tidemark::ops {

// fill(target) {value: real} -> target', the next version of target; f32 or i32. Nothing of target is read. No
// gradient.
OpDefinition fill_op();

}  // namespace tidemark::ops
