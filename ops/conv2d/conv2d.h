// Two-dimensional convolution (cross-correlation) on NHWC images, weights [O,I,KH,KW].
//
//   conv2d(x [B,H,W,C], w [O,C,KH,KW], bias? [O]) {stride = 1, pad = 0} -> y [B,OH,OW,O]
//   conv2d_grad_input(dy, w) {stride, pad, x_shape} -> dx
//   conv2d_grad_weight(x, dy, acc?) {stride, pad, w_shape} -> dw     acc + dw, laid out as w
//
// conv2d_grad_input takes no accumulator: oneDNN cannot add onto dx, so that an `add` costs the same.
#pragma once

#include "ops/op_definition.h"

namespace tidemark::ops {

OpDefinition conv2d_op();
OpDefinition conv2d_grad_input_op();
OpDefinition conv2d_grad_weight_op();

}  // namespace tidemark::ops
