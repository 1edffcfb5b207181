#include "ops/pool2d/pool_shape.h"

#include "base/error.h"
#include "ops/op_rules.h"

namespace tidemark::ops {
namespace {

constexpr int64_t kLargestWindow = 16;  // places in a window fit a byte

void require_image(std::string_view op, const Shape& x) {
  if (x.rank() != 4 || x.elements() == 0) refuse_operand(op, "x", "[B,H,W,C], not empty", to_string(x));
}

MaxPoolSizes sizes_of(std::string_view op, const Shape& x, const Attributes& attributes) {
  require_image(op, x);
  MaxPoolSizes s;
  s.batch = x[0], s.height = x[1], s.width = x[2], s.channels = x[3];
  s.window = attributes.integer("kernel");
  s.stride = attributes.integer_or("stride", s.window);
  s.pad = attributes.integer_or("pad", 0);
  const bool fits = s.window >= 1 && s.window <= kLargestWindow && s.stride >= 1 && s.pad >= 0 && s.pad < s.window &&
                    std::min(s.height, s.width) + 2 * s.pad >= s.window;
  if (!fits) {
    throw Error(ErrorCode::config,
                "op '" + std::string(op) + "': wanted 1 <= kernel <= 16, stride >= 1, 0 <= pad < kernel and a window " +
                    "inside image and padding, given kernel " + std::to_string(s.window) + ", stride " +
                    std::to_string(s.stride) + ", pad " + std::to_string(s.pad) + " on " + to_string(x));
  }
  s.out_height = (s.height + 2 * s.pad - s.window) / s.stride + 1;
  s.out_width = (s.width + 2 * s.pad - s.window) / s.stride + 1;
  return s;
}

}  // namespace

Shape x_shape(const MaxPoolSizes& s) { return {s.batch, s.height, s.width, s.channels}; }

Shape y_shape(const MaxPoolSizes& s) { return {s.batch, s.out_height, s.out_width, s.channels}; }

MaxPoolSizes max_pool2d_sizes(const OpCall& call) {
  require_inputs("max_pool2d", call, 1, 1);
  return sizes_of("max_pool2d", call.input(0).shape, call.attributes);
}

MaxPoolSizes max_pool2d_grad_sizes(const OpCall& call) {
  constexpr std::string_view op = "max_pool2d_grad";
  require_inputs(op, call, 2, 2);
  const MaxPoolSizes s = sizes_of(op, Shape(call.attributes.integers("x_shape")), call.attributes);
  require_shape(op, call, 0, "dy", y_shape(s));
  require_type(op, call, 1, "indices", {DType::u8, y_shape(s)});
  return s;
}

GlobalPoolSizes global_avg_pool2d_sizes(const OpCall& call) {
  require_inputs("global_avg_pool2d", call, 1, 1);
  const Shape& x = call.input(0).shape;
  require_image("global_avg_pool2d", x);
  return {x[0], x[1] * x[2], x[3]};
}

GlobalPoolSizes global_avg_pool2d_grad_sizes(const OpCall& call) {
  constexpr std::string_view op = "global_avg_pool2d_grad";
  require_inputs(op, call, 1, 1);
  const Shape x(call.attributes.integers("x_shape"));
  require_image(op, x);
  require_shape(op, call, 0, "dy", {x[0], x[3]});
  return {x[0], x[1] * x[2], x[3]};
}

}  // namespace tidemark::ops
