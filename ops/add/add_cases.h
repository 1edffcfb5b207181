// What add must do, for the tests of its kernels.
#pragma once

#include "ops/testing/op_case.h"

namespace tidemark::ops {

testing::OpCase add_case(const std::string& op, Shape shape);

// One element, odd counts, more than one thread's or block's share.
std::vector<Shape> add_shapes();

}  // namespace tidemark::ops
