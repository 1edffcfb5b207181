#include "ops/add/add_cases.h"

namespace tidemark::ops {
namespace {

using testing::Reference;

std::vector<Reference> sum(const Attributes&, const std::vector<Reference>& inputs) {
  Reference out = inputs[0];
  for (size_t i = 0; i < out.data.size(); ++i) out.data[i] += inputs[1].data[i];
  return {out};
}

}  // namespace

testing::OpCase add_case(const std::string& op, Shape shape) {
  const ValueType type{DType::f32, shape};
  return {.name = op + " " + to_string(shape),
          .op = op,
          .inputs = {{.type = type}, {.type = type}},
          .reference = sum,
          .tolerance = 1e-6,
          .check_gradient = op == "add",
          .flops = static_cast<double>(shape.elements())};
}

std::vector<Shape> add_shapes() { return {{1}, {17}, {3, 5, 7}, {2, 1024}, {3, 10001, 1}}; }

}  // namespace tidemark::ops
