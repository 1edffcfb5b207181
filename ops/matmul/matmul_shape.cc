#include "ops/matmul/matmul_shape.h"

#include "base/error.h"
#include "ops/op_rules.h"

namespace tidemark::ops {

MatmulShape weight_shape(std::string_view op, const Shape& w, bool transpose_w) {
  if (w.rank() != 2) refuse_operand(op, "w", transpose_w ? "[N,K]" : "[K,N]", to_string(w));
  MatmulShape shape;
  shape.transpose_w = transpose_w;
  shape.in = w[transpose_w ? 1 : 0];
  shape.out = w[transpose_w ? 0 : 1];
  return shape;
}

void match_rows(std::string_view op, const Shape& x, MatmulShape& shape) {
  int64_t row = 1;
  size_t kept = x.rank();
  while (kept > 0 && (row != shape.in || kept == x.rank())) row *= x[--kept];
  if (row != shape.in) {
    refuse_operand(op, "x", "trailing dims whose product is " + std::to_string(shape.in), to_string(x));
  }
  shape.kept_dims = kept;
  shape.rows = 1;
  for (size_t i = 0; i < kept; ++i) shape.rows *= x[i];
}

Shape output_shape(const Shape& x, const MatmulShape& shape) {
  std::vector<int64_t> dims(x.dims().begin(), x.dims().begin() + static_cast<int64_t>(shape.kept_dims));
  dims.push_back(shape.out);
  return Shape(std::move(dims));
}

MatmulShape matmul_shape(const OpCall& call) {
  constexpr std::string_view op = "matmul";
  require_inputs(op, call, 2, 3);
  MatmulShape shape = weight_shape(op, call.input(1).shape, call.attributes.boolean_or("transpose_w", true));
  match_rows(op, call.input(0).shape, shape);
  require_shape(op, call, 2, "bias", {shape.out});
  return shape;
}

MatmulShape matmul_grad_input_shape(const OpCall& call) {
  constexpr std::string_view op = "matmul_grad_input";
  require_inputs(op, call, 2, 3);
  MatmulShape shape = weight_shape(op, call.input(1).shape, call.attributes.boolean_or("transpose_w", true));
  const Shape x(call.attributes.integers("x_shape"));
  match_rows(op, x, shape);
  require_shape(op, call, 0, "dz", output_shape(x, shape));
  require_type(op, call, 2, "acc", {call.input(0).dtype, x});
  return shape;
}

MatmulShape matmul_grad_weight_shape(const OpCall& call) {
  constexpr std::string_view op = "matmul_grad_weight";
  require_inputs(op, call, 2, 3);
  const Shape &x = call.input(0).shape, &dz = call.input(1).shape;
  MatmulShape shape;
  shape.transpose_w = call.attributes.boolean_or("transpose_w", true);
  shape.out = dz.dim(-1);
  shape.rows = leading_elements(dz);
  shape.kept_dims = dz.rank() - 1;
  shape.in = shape.rows > 0 ? x.elements() / shape.rows : 0;
  if (x.rank() < dz.rank() || output_shape(x, shape) != dz || shape.rows * shape.in != x.elements()) {
    refuse_operand(op, "dz", "the leading dims of x " + to_string(x) + " and N", to_string(dz));
  }
  const Shape w = shape.transpose_w ? Shape{shape.out, shape.in} : Shape{shape.in, shape.out};
  require_type(op, call, 2, "acc", {call.input(0).dtype, w});
  return shape;
}

}  // namespace tidemark::ops
