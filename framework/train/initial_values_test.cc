#include "framework/train/initial_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace tidemark::train {
namespace {

using models::Initializer;

std::vector<float> draw(const Initializer& initializer, std::string_view name, int64_t count, uint64_t seed) {
  std::vector<float> values(static_cast<size_t>(count));
  write_initial_value(initializer, name, {DType::f32, Shape{count}}, seed, std::as_writable_bytes(std::span(values)));
  return values;
}

TEST(InitialValues, NormalHasItsDeviation) {
  const auto values = draw({Initializer::Kind::normal, 0.02}, "w", 100'001, 1);
  double sum = 0, squares = 0;
  for (float v : values) sum += v, squares += double{v} * v;
  const auto n = static_cast<double>(values.size());
  EXPECT_NEAR(sum / n, 0.0, 3 * 0.02 / std::sqrt(n));
  EXPECT_NEAR(std::sqrt(squares / n), 0.02, 0.0005);
}

TEST(InitialValues, DrawsHangOnSeedNameAndElementAlone) {
  const Initializer normal{Initializer::Kind::normal, 1.0};
  const auto a = draw(normal, "layer0/weight", 1000, 7);
  EXPECT_EQ(draw(normal, "layer0/weight", 1000, 7), a);
  const auto shorter = draw(normal, "layer0/weight", 998, 7);
  EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), a.begin())) << "the first elements do not hang on the size";
  EXPECT_NE(draw(normal, "layer1/weight", 1000, 7), a);
  EXPECT_NE(draw(normal, "layer0/weight", 1000, 8), a);
}

TEST(InitialValues, ConstantsAreWrittenInTheTensorsType) {
  EXPECT_EQ(draw({Initializer::Kind::constant, 1.0}, "scale", 3, 1), (std::vector<float>{1, 1, 1}));
  std::vector<int32_t> counter{5};
  write_initial_value({Initializer::Kind::constant, 0.0}, "counter", {DType::i32, Shape{1}}, 1,
                      std::as_writable_bytes(std::span(counter)));
  EXPECT_EQ(counter[0], 0);
}

}  // namespace
}  // namespace tidemark::train
