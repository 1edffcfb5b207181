#include "ops/op_rules.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"

namespace tidemark::ops {
namespace {

class OpRules : public ::testing::Test {
 protected:
  std::string message(const std::function<void(const OpCall&)>& rule) const {
    try {
      rule({attributes_, types_});
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::config);
      return e.what();
    }
    return "accepted";
  }

  const Attributes attributes_;
  std::vector<std::optional<ValueType>> types_ = {ValueType{DType::f32, {4, 3, 2}}, std::nullopt,
                                                  ValueType{DType::bf16, {2}}};
};

TEST_F(OpRules, CountTheOperands) {
  EXPECT_EQ(message([](const OpCall& call) { require_inputs("x", call, 1, 3); }), "accepted");
  EXPECT_EQ(message([](const OpCall& call) { require_inputs("x", call, 1, 2); }),
            "op 'x': wanted 1 to 2 operands, given 3");
  EXPECT_EQ(message([](const OpCall& call) { require_inputs("x", call, 4, 4); }), "op 'x': wanted 4 operands, given 3");
  EXPECT_NE(message([](const OpCall& call) { require_inputs("x", call, 2, 3); }), "accepted") << "the second is absent";
}

TEST_F(OpRules, CompareTypesOfWhatIsThere) {
  EXPECT_EQ(message([](const OpCall& call) { require_type("x", call, 1, "b", {DType::i32, {1}}); }), "accepted");
  EXPECT_EQ(message([](const OpCall& call) {
              require_type("x", call, 2, "c", {DType::f32, {2}});
            }),
            "op 'x', operand 'c': wanted f32[2], given bf16[2]");
  EXPECT_EQ(message([](const OpCall& call) { require_dtype("x", call, 2, "c", DType::f32); }),
            "op 'x', operand 'c': wanted f32, given bf16[2]");
  EXPECT_EQ(message([](const OpCall& call) { require_shape("x", call, 2, "c", {3}); }),
            "op 'x', operand 'c': wanted shape [3], given bf16[2]");
}

TEST_F(OpRules, KernelsOfF32NameTheOperandTheyRefuse) {
  std::string why_not;
  EXPECT_FALSE(floats_are_f32({attributes_, types_}, why_not));
  EXPECT_EQ(why_not, "takes f32, operand 2 is bf16[2]");
  types_[2] = ValueType{DType::i32, {2}};
  EXPECT_TRUE(floats_are_f32({attributes_, types_}, why_not));
}

TEST(LeadingElements, LeavesTheLastDimensionOut) {
  EXPECT_EQ(leading_elements({4, 3, 2}), 12);
  EXPECT_EQ(leading_elements({7}), 1);
}

}  // namespace
}  // namespace tidemark::ops
