// Sizes of a two-dimensional convolution, as its ops and kernels read them from a call.
#pragma once

#include "ops/op_definition.h"

namespace tidemark::ops {

struct Conv2dShape {
  int64_t batch = 0, height = 0, width = 0, in = 0;      // x [B,H,W,C]
  int64_t out = 0, kernel_height = 0, kernel_width = 0;  // w [O,C,KH,KW]
  int64_t out_height = 0, out_width = 0;                 // y [B,OH,OW,O]
  int64_t stride = 1, pad = 0;                           // the same in both directions and on all sides

  Shape x() const { return {batch, height, width, in}; }
  Shape w() const { return {out, in, kernel_height, kernel_width}; }
  Shape y() const { return {batch, out_height, out_width, out}; }
  double flops() const;  // multiplications and additions, those with padding too
};

// Error(config) naming `op`, operand, wanted and given if x and w do not fit, or the window is larger than the padded
// image.
Conv2dShape conv2d_shape(std::string_view op, const Shape& x, const Shape& w, const Attributes& attributes);

// The same from each op's call.
Conv2dShape conv2d_shape(const OpCall& call);              // x, w, bias?
Conv2dShape conv2d_grad_input_shape(const OpCall& call);   // dy, w        {x_shape}
Conv2dShape conv2d_grad_weight_shape(const OpCall& call);  // x, dy, acc?  {w_shape}

}  // namespace tidemark::ops
