#include "ops/all_ops.h"

#include "ops/activation/activation.h"
#include "ops/add/add.h"
#include "ops/conv2d/conv2d.h"
#include "ops/linear_cross_entropy/linear_cross_entropy.h"
#include "ops/matmul/matmul.h"

namespace tidemark::ops {

OpSet all_ops() {
  OpSet ops;
  ops.add(add_op());
  ops.add(add_into_op());
  ops.add(conv2d_op());
  ops.add(conv2d_grad_input_op());
  ops.add(conv2d_grad_weight_op());
  ops.add(gelu_op());
  ops.add(gelu_grad_op());
  ops.add(linear_cross_entropy_op());
  ops.add(linear_cross_entropy_grad_op());
  ops.add(matmul_op());
  ops.add(matmul_grad_input_op());
  ops.add(matmul_grad_weight_op());
  ops.add(relu_op());
  ops.add(relu_grad_op());
  return ops;
}

}  // namespace tidemark::ops
