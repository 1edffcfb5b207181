#include "ops/all_ops.h"

#include "ops/add/add.h"

namespace tidemark::ops {

OpSet all_ops() {
  OpSet ops;
  ops.add(add_op());
  ops.add(add_into_op());
  return ops;
}

}  // namespace tidemark::ops
