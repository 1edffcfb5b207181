#include "bazel/simd/sample_kernel.h"

#include <gtest/gtest.h>

namespace tidemark {
namespace {

const std::vector<float> kValues = {3, -1, 2};
const float kWeights[] = {1, 10, 100};

TEST(SampleKernel, EveryLevelIsLinkedUnderItsOwnName) {
  EXPECT_EQ(isa_v2::SampleLevel(), 2);
  EXPECT_EQ(isa_v3::SampleLevel(), 3);
  EXPECT_EQ(isa_v4::SampleLevel(), 4);
}

TEST(SampleKernel, BaselineLevelComputes) { EXPECT_EQ(isa_v2::PositiveDot(kValues, kWeights), 203.0f); }

TEST(SampleKernel, Avx2LevelComputes) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this CPU has no AVX2";
  EXPECT_EQ(isa_v3::PositiveDot(kValues, kWeights), 203.0f);
}

TEST(SampleKernel, Avx512LevelComputes) {
  if (!__builtin_cpu_supports("avx512f")) GTEST_SKIP() << "this CPU has no AVX-512";
  EXPECT_EQ(isa_v4::PositiveDot(kValues, kWeights), 203.0f);
}

}  // namespace
}  // namespace tidemark
