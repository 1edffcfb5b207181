#include "graph/types.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tidemark {
namespace {

TEST(Types, NamesAndSizesOfDTypes) {
  const std::pair<DType, int64_t> sizes[] = {{DType::f32, 4}, {DType::bf16, 2}, {DType::i32, 4}, {DType::u8, 1}};
  for (const auto& [dtype, bytes] : sizes) {
    EXPECT_EQ(size_bytes(dtype), bytes);
    EXPECT_EQ(dtype_from_string(to_string(dtype)), dtype);
  }
  EXPECT_EQ(to_string(DType::bf16), "bf16");
  EXPECT_EQ(dtype_from_string("f64"), std::nullopt);
}

TEST(Types, ShapeCountsFromBothEnds) {
  const Shape shape{2, 3, 5};
  EXPECT_EQ(shape.dim(0), 2);
  EXPECT_EQ(shape.dim(-1), 5);
  EXPECT_EQ(shape.elements(), 30);
  EXPECT_EQ(to_string(shape), "[2,3,5]");
  EXPECT_DEATH(shape.dim(3), "dimension 3 of shape \\[2,3,5\\]");
  EXPECT_DEATH(shape.dim(-4), "dimension -4");
}

TEST(Types, BytesAndText) {
  const ValueType type{DType::bf16, {64, 128}};
  EXPECT_EQ(type.bytes(), 2 * 64 * 128);
  EXPECT_EQ(to_string(type), "bf16[64,128]");
}

TEST(Types, OverflowIsAnErrorThatShowsTheShape) {
  const int64_t huge = int64_t{1} << 40;
  EXPECT_THROW((Shape{huge, huge}.elements()), Error);
  try {
    (ValueType{DType::f32, {int64_t{1} << 62}}).bytes();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::config);
    EXPECT_NE(std::string(error.what()).find("f32[4611686018427387904]"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tidemark
