// Pointwise activations on f32 tensors of any shape.
//   relu(x) -> y             y may share x          gradient: relu_grad(y, dy)
//   gelu(x) -> y             tanh form              gradient: gelu_grad(x, dy)
//   relu_grad(y, dy) -> dz   dz may share dy        y: what relu gave
//   gelu_grad(x, dy) -> dz   dz may share dy        x: what gelu took
#pragma once

#include "ops/op_definition.h"

namespace tidemark::ops {

OpDefinition gelu_op();
OpDefinition gelu_grad_op();
OpDefinition relu_op();
OpDefinition relu_grad_op();

}  // namespace tidemark::ops
