#include "ops/add/add.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ops/add/add_cases.h"

namespace tidemark::ops {
namespace {

OpSet add_ops() {
  OpSet ops;
  ops.add(add_op());
  ops.add(add_into_op());
  return ops;
}

class AddShapes : public ::testing::TestWithParam<Shape> {};

TEST_P(AddShapes, AddMatchesReference) { testing::check_op_case(add_ops(), add_case("add", GetParam())); }
TEST_P(AddShapes, AddIntoMatchesReference) { testing::check_op_case(add_ops(), add_case("add_into", GetParam())); }

INSTANTIATE_TEST_SUITE_P(All, AddShapes, ::testing::ValuesIn(add_shapes()));

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
