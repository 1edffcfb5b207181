#include "ops/add/add.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ops/testing/op_case.h"

namespace tidemark::ops {
namespace {

using testing::OpCase;
using testing::Reference;

OpSet add_ops() {
  OpSet ops;
  ops.add(add_op());
  ops.add(add_into_op());
  return ops;
}

std::vector<Reference> sum(const Attributes&, const std::vector<Reference>& inputs) {
  Reference out = inputs[0];
  for (size_t i = 0; i < out.data.size(); ++i) out.data[i] += inputs[1].data[i];
  return {out};
}

OpCase sum_case(const std::string& op, Shape shape) {
  const ValueType type{DType::f32, shape};
  return {.name = op + " " + to_string(shape),
          .op = op,
          .inputs = {{.type = type}, {.type = type}},
          .reference = sum,
          .tolerance = 1e-6,
          .check_gradient = op == "add",
          .flops = static_cast<double>(shape.elements())};
}

class AddShapes : public ::testing::TestWithParam<Shape> {};

TEST_P(AddShapes, AddMatchesReference) { check_op_case(add_ops(), sum_case("add", GetParam())); }
TEST_P(AddShapes, AddIntoMatchesReference) { check_op_case(add_ops(), sum_case("add_into", GetParam())); }

INSTANTIATE_TEST_SUITE_P(All, AddShapes,
                         ::testing::Values(Shape{1}, Shape{17}, Shape{3, 5, 7}, Shape{2, 1024}, Shape{3, 10001, 1}));

TEST(Add, RefusesShapesThatDiffer) {
  const std::optional<ValueType> types[] = {ValueType{DType::f32, {2, 3}}, ValueType{DType::f32, {3, 2}}};
  const Attributes none;
  try {
    add_ops().table().find("add").outputs({none, types});
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "op 'add', operand 'b': wanted f32[2,3], given f32[3,2]");
  }
}

TEST(Add, NoKernelTakesIntegersAndTheErrorSaysWhy) {
  const std::optional<ValueType> types[] = {ValueType{DType::i32, {2}}, ValueType{DType::i32, {2}}};
  const Attributes none;
  try {
    add_ops().choose_kernel("add", KernelDevice::cpu, {{none, types}, 1});
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "no kernel of device cpu takes add(i32[2], i32[2]); cpu:add: takes f32 only");
  }
}

}  // namespace
}  // namespace tidemark::ops
