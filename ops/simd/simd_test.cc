#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "ops/simd/simd_probe.h"
#include "ops/simd_choice.h"

namespace tidemark::ops {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> exp_of(const std::vector<float>& x) {
  std::vector<float> y(x.size());
  TM_SIMD_CHOICE(exp_range)(x.data(), y.data(), static_cast<int64_t>(x.size()));
  return y;
}

// Distance in units in the last place of the true value.
double units_off(float got, double want) {
  int exponent;
  std::frexp(want, &exponent);
  return std::abs(got - want) / std::ldexp(1.0, exponent - std::numeric_limits<float>::digits);
}

TEST(Exp, IsTwoUnitsOffAtMost) {
  std::vector<float> x;
  for (float value = -87.33f; value < 88.72f; value += 0.00371f) x.push_back(value);
  const std::vector<float> y = exp_of(x);
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    worst = std::max(worst, units_off(y[i], std::exp(static_cast<double>(x[i]))));
  }
  EXPECT_LE(worst, 2.0);
}

TEST(Exp, EdgesOfTheRange) {
  const std::vector<float> y =
      exp_of({0.0f, -0.0f, -87.5f, -200.0f, -kInfinity, 88.7228f, 88.73f, 1000.0f, kInfinity, std::nanf("")});
  EXPECT_EQ(y[0], 1.0f);
  EXPECT_EQ(y[1], 1.0f);
  EXPECT_EQ(y[2], 0.0f);
  EXPECT_EQ(y[3], 0.0f);
  EXPECT_EQ(y[4], 0.0f);
  EXPECT_LE(units_off(y[5], std::exp(88.7228f + 0.0)), 2.0);
  EXPECT_EQ(y[6], kInfinity);
  EXPECT_EQ(y[7], kInfinity);
  EXPECT_EQ(y[8], kInfinity);
  EXPECT_TRUE(std::isnan(y[9]));
}

TEST(Vector, ReductionsTakeEveryElementOfAnyCount) {
  for (int64_t count = 1; count <= 50; ++count) {
    std::vector<float> x(count);
    for (int64_t i = 0; i < count; ++i) x[i] = -1.0f - static_cast<float>(i);
    EXPECT_EQ(TM_SIMD_CHOICE(sum_range)(x.data(), count), -0.5f * static_cast<float>(count * (count + 1)));
    for (const int64_t at : {int64_t{0}, count / 2, count - 1}) {
      const float before = std::exchange(x[at], 7.0f);
      EXPECT_EQ(TM_SIMD_CHOICE(maximum_range)(x.data(), count), 7.0f) << count;
      x[at] = before;
    }
  }
}

// Small integers: every order of the sums gives the same.
std::vector<float> integers(size_t count, std::mt19937& random) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 17) - 8);
  return values;
}

void check_product(int64_t rows, int64_t columns, int64_t depth, bool a_transposed, bool accumulate) {
  std::mt19937 random(static_cast<unsigned>(rows * 1000 + columns * 10 + depth));
  const int64_t b_row = (columns + 15) / 16 * 16 + 16, c_row = columns + 3;
  const std::vector<float> a = integers(rows * depth, random), b = integers(depth * b_row, random);
  const std::vector<float> before =
      accumulate ? integers(rows * c_row, random) : std::vector<float>(rows * c_row, std::nanf(""));
  std::vector<float> c = before;
  TM_SIMD_CHOICE(product)(rows, columns, depth, a.data(), a_transposed, b.data(), b_row, c.data(), c_row, accumulate);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      float want = accumulate ? before[i * c_row + j] : 0.0f;
      for (int64_t k = 0; k < depth; ++k) want += a[a_transposed ? k * rows + i : i * depth + k] * b[k * b_row + j];
      ASSERT_EQ(c[i * c_row + j], want) << rows << "x" << columns << "x" << depth << " at " << i << "," << j;
    }
    for (int64_t j = columns; j < c_row; ++j) {
      const float got = c[i * c_row + j];
      ASSERT_TRUE(accumulate ? got == before[i * c_row + j] : std::isnan(got)) << "written beyond the columns";
    }
  }
}

TEST(TileProduct, AnyShape) {
  for (const int64_t rows : {1, 2, 3, 4, 5, 6, 7, 13}) {
    for (const int64_t columns : {1, 3, 4, 8, 15, 16, 17, 40, 48, 64, 65, 140}) {
      for (const int64_t depth : {1, 2, 9}) {
        for (const int flags : {0, 1, 2, 3}) check_product(rows, columns, depth, flags & 1, flags & 2);
      }
    }
  }
}

TEST(TileProduct, NoDepthClearsOrLeaves) {
  check_product(5, 37, 0, false, false);
  check_product(5, 37, 0, false, true);
}

}  // namespace
}  // namespace tidemark::ops
