#include "ops/fill/fill.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ops/testing/op_case.h"

namespace tidemark::ops {
namespace {

using testing::OpCase;
using testing::Reference;

OpSet fill_ops() {
  OpSet ops;
  ops.add(fill_op());
  return ops;
}

void check_fill(ValueType type, double value) {
  const auto reference = [](const Attributes& attributes, const std::vector<Reference>& inputs) {
    Reference out = inputs[0];
    for (double& x : out.data) x = attributes.real("value");
    return std::vector<Reference>{out};
  };
  check_op_case(fill_ops(), OpCase{.name = to_string(type),
                                   .op = "fill",
                                   .attributes = {{"value", value}},
                                   .inputs = {{.type = type}},
                                   .reference = reference,
                                   .tolerance = 0,
                                   .check_gradient = false,
                                   .flops = 0.0,
                                   .bytes_read = 0});
}

TEST(Fill, SetsEveryElement) {
  check_fill({DType::f32, {1}}, 0.0);
  check_fill({DType::f32, {3, 10001}}, -0.5);
  check_fill({DType::i32, {5, 3}}, 7);
}

TEST(Fill, ValueIsRequired) {
  const std::optional<ValueType> types[] = {ValueType{DType::f32, {2}}};
  const Attributes none;
  EXPECT_THROW(fill_ops().table().find("fill").outputs({none, types}), Error);
}

TEST(Fill, KernelRefusesBytes) {
  const std::optional<ValueType> types[] = {ValueType{DType::u8, {2}}};
  const Attributes zero{{"value", 0.0}};
  EXPECT_THROW(fill_ops().choose_kernel("fill", KernelDevice::cpu, {{zero, types}, 1}), Error);
}

}  // namespace
}  // namespace tidemark::ops
