// Pooling of NHWC images.
//
//   max_pool2d(x [B,H,W,C]) {kernel, stride = kernel, pad = 0} -> y [B,OH,OW,C], indices u8[B,OH,OW,C]
//     indices: the place of the maximum in its window, row * kernel + column; of equal ones the first. kernel <= 16.
//     NaN counts as the largest. Padding is never taken: pad < kernel.
//   max_pool2d_grad(dy, indices) {x_shape, kernel, stride, pad} -> dx
//   global_avg_pool2d(x [B,H,W,C]) -> y [B,C]
//   global_avg_pool2d_grad(dy) {x_shape} -> dx
#pragma once

#include "ops/op_definition.h"

namespace tidemark::ops {

OpDefinition global_avg_pool2d_op();
OpDefinition global_avg_pool2d_grad_op();
OpDefinition max_pool2d_op();
OpDefinition max_pool2d_grad_op();

}  // namespace tidemark::ops
