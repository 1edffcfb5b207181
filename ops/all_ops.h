// The explicit list of ops: one line each in all_ops.cc.
#pragma once

#include "ops/op_definition.h"

namespace tidemark::ops {

OpSet all_ops();

}  // namespace tidemark::ops
