#include "ops/conv2d/conv2d_shape.h"

#include "base/error.h"
#include "ops/op_rules.h"

namespace tidemark::ops {
namespace {

int64_t windows(std::string_view op, int64_t size, int64_t window, const Conv2dShape& s) {
  const int64_t room = size + 2 * s.pad - window;
  if (room < 0) {
    refuse_operand(op, "w", "a window of at most " + std::to_string(size + 2 * s.pad) + " (image and padding)",
                   std::to_string(window));
  }
  return room / s.stride + 1;
}

}  // namespace

double Conv2dShape::flops() const {
  return 2.0 * static_cast<double>(y().elements()) * static_cast<double>(in * kernel_height * kernel_width);
}

Conv2dShape conv2d_shape(std::string_view op, const Shape& x, const Shape& w, const Attributes& attributes) {
  if (x.rank() != 4) refuse_operand(op, "x", "[B,H,W,C]", to_string(x));
  if (w.rank() != 4 || w[1] != x[3]) refuse_operand(op, "w", "[O," + std::to_string(x[3]) + ",KH,KW]", to_string(w));
  Conv2dShape s;
  s.batch = x[0], s.height = x[1], s.width = x[2], s.in = x[3];
  s.out = w[0], s.kernel_height = w[2], s.kernel_width = w[3];
  s.stride = attributes.integer_or("stride", 1);
  s.pad = attributes.integer_or("pad", 0);
  if (s.stride < 1 || s.pad < 0) {
    throw Error(ErrorCode::config, "op '" + std::string(op) + "': wanted stride >= 1 and pad >= 0, given stride " +
                                       std::to_string(s.stride) + ", pad " + std::to_string(s.pad));
  }
  s.out_height = windows(op, s.height, s.kernel_height, s);
  s.out_width = windows(op, s.width, s.kernel_width, s);
  return s;
}

Conv2dShape conv2d_shape(const OpCall& call) {
  require_inputs("conv2d", call, 2, 3);
  const Conv2dShape s = conv2d_shape("conv2d", call.input(0).shape, call.input(1).shape, call.attributes);
  require_shape("conv2d", call, 2, "bias", {s.out});
  return s;
}

Conv2dShape conv2d_grad_input_shape(const OpCall& call) {
  constexpr std::string_view op = "conv2d_grad_input";
  require_inputs(op, call, 2, 2);
  const Shape x(call.attributes.integers("x_shape"));
  const Conv2dShape s = conv2d_shape(op, x, call.input(1).shape, call.attributes);
  require_shape(op, call, 0, "dy", s.y());
  return s;
}

Conv2dShape conv2d_grad_weight_shape(const OpCall& call) {
  constexpr std::string_view op = "conv2d_grad_weight";
  require_inputs(op, call, 2, 3);
  const Shape w(call.attributes.integers("w_shape"));
  const Conv2dShape s = conv2d_shape(op, call.input(0).shape, w, call.attributes);
  require_shape(op, call, 1, "dy", s.y());
  require_type(op, call, 2, "acc", {call.input(0).dtype, w});
  return s;
}

}  // namespace tidemark::ops
