#include "base/philox.h"

#include <gtest/gtest.h>

#include <array>

namespace tidemark {
namespace {

std::array<uint32_t, 4> draw(Philox4 counter, PhiloxKey key) {
  const Philox4 out = philox4x32_10(counter, key);
  return {out.word[0], out.word[1], out.word[2], out.word[3]};
}

// The three known answers that the Random123 library publishes for philox4x32 with 10 rounds.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(draw({{0, 0, 0, 0}}, {{0, 0}}), (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(draw({{~0u, ~0u, ~0u, ~0u}}, {{~0u, ~0u}}),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(draw({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, {{0xa4093822, 0x299f31d0}}),
            (std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomBlock, EveryPartOfTheSiteMatters) {
  const RandomSite base = {.seed = 1, .step = 2, .sample = 3, .op = 4};
  const auto first = [](RandomSite site, uint32_t block) { return random_block(site, block).word[0]; };
  std::array<RandomSite, 5> others = {base, base, base, base, base};
  others[0].seed += 1;
  others[1].seed += uint64_t{1} << 32;
  others[2].step += 1;
  others[3].sample += 1;
  others[4].op += 1;
  for (const RandomSite& other : others) EXPECT_NE(first(other, 5), first(base, 5));
  EXPECT_NE(first(base, 6), first(base, 5));
  EXPECT_EQ(first(base, 5), first(base, 5));
}

TEST(UniformFloat, CoversZeroToBelowOne) {
  EXPECT_EQ(uniform_float(0), 0.0f);
  EXPECT_EQ(uniform_float(0xffffffffu), 1.0f - 0x1p-24f);
  EXPECT_EQ(uniform_float(0x80000000u), 0.5f);
}

TEST(UniformFloat, MeanAndVarianceAreThoseOfTheUniform) {
  const int blocks = 1 << 16;
  double sum = 0, squares = 0;
  for (int b = 0; b < blocks; ++b) {
    for (const uint32_t bits : random_block({.seed = 7}, b).word) {
      const double x = uniform_float(bits);
      sum += x;
      squares += x * x;
    }
  }
  const double mean = sum / (4 * blocks);
  EXPECT_NEAR(mean, 0.5, 0.003);  // five standard deviations of the mean
  EXPECT_NEAR(squares / (4 * blocks) - mean * mean, 1.0 / 12, 0.001);
}

TEST(NormalPair, MomentsAreThoseOfTheNormal) {
  const int blocks = 1 << 16;
  double sum = 0, squares = 0, fourth = 0, product = 0;
  for (int b = 0; b < blocks; ++b) {
    const Philox4 bits = random_block({.seed = 11}, b);
    const NormalPair pair = normal_pair(bits.word[0], bits.word[1]);
    for (const double x : {pair.first, pair.second}) {
      sum += x;
      squares += x * x;
      fourth += x * x * x * x;
    }
    product += static_cast<double>(pair.first) * pair.second;
  }
  const double n = 2.0 * blocks;
  EXPECT_NEAR(sum / n, 0, 0.014);
  EXPECT_NEAR(squares / n, 1, 0.02);
  EXPECT_NEAR(fourth / n, 3, 0.14);
  EXPECT_NEAR(product / blocks, 0, 0.02);
}

TEST(NormalPair, IsFiniteAtTheEnds) {
  for (const uint32_t bits : {0u, 0xffffffffu}) {
    const NormalPair pair = normal_pair(bits, 0x12345678u);
    EXPECT_TRUE(std::isfinite(pair.first) && std::isfinite(pair.second));
    EXPECT_LT(std::hypot(pair.first, pair.second), 5.8f);
  }
}

}  // namespace
}  // namespace tidemark
