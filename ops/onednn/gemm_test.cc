#include "ops/onednn/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace tidemark::ops::onednn {
namespace {

std::vector<float> random_floats(int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(generator);
  return values;
}

struct AlignedBytes {
  explicit AlignedBytes(int64_t bytes)
      : data(static_cast<std::byte*>(std::aligned_alloc(64, static_cast<size_t>(bytes + 64) / 64 * 64))) {}
  ~AlignedBytes() { std::free(data); }
  std::byte* data;
};

// Every 37th element against a sum in double.
void check_gemm(const GemmShape& s, bool packs) {
  const Gemm gemm(s, 2);
  EXPECT_EQ(gemm.packs_b(), packs) << gemm.implementation();
  const auto a = random_floats(s.m * s.k, 1), b = random_floats(s.k * s.n, 2), bias = random_floats(s.n, 3);
  const auto before = random_floats(s.m * s.n, 4);
  std::vector<float> c = before;
  const AlignedBytes workspace(gemm.workspace_bytes());
  gemm.run(a.data(), b.data(), bias.data(), c.data(), workspace.data);
  for (int64_t at = 0; at < s.m * s.n; at += 37) {
    const int64_t i = at / s.n, j = at % s.n;
    double sum = s.bias ? bias[j] : 0.0;
    for (int64_t p = 0; p < s.k; ++p) {
      sum += static_cast<double>(a[s.a_transposed ? p * s.m + i : i * s.k + p]) *
             b[s.b_transposed ? j * s.k + p : p * s.n + j];
    }
    if (s.accumulate) sum += before[at];
    if (s.relu) sum = std::max(sum, 0.0);
    ASSERT_NEAR(c[at], sum, 1e-4 * (1 + std::sqrt(s.k))) << "row " << i << " column " << j;
  }
}

TEST(Gemm, EveryTransposition) {
  for (bool a : {false, true}) {
    for (bool b : {false, true}) check_gemm({.m = 33, .n = 70, .k = 19, .a_transposed = a, .b_transposed = b}, false);
  }
}

TEST(Gemm, BiasReluAndAccumulation) {
  check_gemm({.m = 5, .n = 17, .k = 40, .bias = true, .relu = true}, false);
  check_gemm({.m = 65, .n = 130, .k = 31, .accumulate = true}, false);
  check_gemm({.m = 1, .n = 1, .k = 1, .bias = true}, false);
}

// The packed layout exists only where oneDNN runs on AVX-512.
TEST(Gemm, PacksRowsOfWholePages) {
  GemmShape shape = {.m = 512, .n = 1024, .k = 24, .a_transposed = true};
  const bool avx512 = Gemm(shape, 1).implementation().find("avx512") != std::string::npos;
  check_gemm(shape, avx512);
  shape.accumulate = true;
  check_gemm(shape, avx512);
  check_gemm({.m = 256, .n = 1024, .k = 24, .a_transposed = true}, false);
}

TEST(Primitive, OlderImplementationsAllocate) {
  EXPECT_TRUE(allocates_buffers("gemm:jit"));
  EXPECT_TRUE(allocates_buffers("x64:gemm:jit"));
  EXPECT_FALSE(allocates_buffers("brg:avx512_core"));
  EXPECT_FALSE(allocates_buffers("brgemm:avx512_core"));
}

TEST(Gemm, ShapeThatOneDnnRefusesThrows) { EXPECT_THROW(Gemm({.m = -1, .n = 2, .k = 3}, 1), dnnl::error); }

}  // namespace
}  // namespace tidemark::ops::onednn
