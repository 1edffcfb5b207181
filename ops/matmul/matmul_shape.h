// How the operands of matmul and its gradients are read as matrices.
#pragma once

#include "ops/op_definition.h"

namespace tidemark::ops {

struct MatmulShape {
  int64_t rows = 0;      // leading elements of x
  int64_t in = 0;        // K
  int64_t out = 0;       // N
  size_t kept_dims = 0;  // leading dims of x that y keeps
  bool transpose_w = true;
};

// K and N of a weight of this shape; Error(config) naming `op` unless it has two dims.
MatmulShape weight_shape(std::string_view op, const Shape& w, bool transpose_w);

// The trailing dims of x whose product is `in`, as few as possible, are the row. Error(config) if there are none.
void match_rows(std::string_view op, const Shape& x, MatmulShape& shape);

// Shape of y (or dz): the kept dims of x, then N.
Shape output_shape(const Shape& x, const MatmulShape& shape);

// The matrices of each op's call. Error(config) naming operand, wanted and given, if they do not fit.
MatmulShape matmul_shape(const OpCall& call);              // x, w, bias?
MatmulShape matmul_grad_input_shape(const OpCall& call);   // dz, w, acc?   {x_shape}
MatmulShape matmul_grad_weight_shape(const OpCall& call);  // x, dz, acc?

}  // namespace tidemark::ops
