// Linear layers: y = activation(x W + bias), with W stored [N,K] (transpose_w, the default) or [K,N].
//
//   matmul(x [..,K], w, bias? [N]) {transpose_w, activation: "none"|"relu"|"gelu"} -> y [..,N]
//     With gelu a second output "pre", the pre-activation, which the backward pass needs. Recomputation takes that
//     apart into matmul with activation "pre" (the second output alone, bit for bit) and the op gelu.
//     The row of x is as few of its trailing dims as have the product K: [B,28,28,1] with K = 784 gives [B,N].
//   matmul_grad_input(dz, w, acc? [..,K]) {transpose_w, x_shape} -> dx      acc + dz W^T
//   matmul_grad_weight(x, dz, acc?) {transpose_w} -> dw                     acc + x^T dz, laid out as w
//
// Kernels: register tiles of our own where they are faster (Note [Tiles or oneDNN] in matmul_tiles.cc), else oneDNN's.
// Which layout is faster with oneDNN: Note [Weight layouts] in matmul_cpu.cc.
#pragma once

#include "ops/op_definition.h"

namespace tidemark::ops {

OpDefinition matmul_op();
OpDefinition matmul_grad_input_op();
OpDefinition matmul_grad_weight_op();

}  // namespace tidemark::ops
