#include "framework/inference/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "base/error.h"

namespace tidemark::inference {
namespace {

const std::vector<float> kLogits = {0.5f, 2.0f, -1.0f, 2.0f, 1.0f, -3.0f};

std::map<int32_t, double> shares(const SamplingOptions& options, int draws) {
  Sampler sampler(options, 6);
  std::map<int32_t, double> shares;
  for (int i = 0; i < draws; ++i) shares[sampler.pick(kLogits, i % 7, i / 7)] += 1.0 / draws;
  return shares;
}

TEST(Sampler, WithoutTemperatureTheLikeliestAndAmongEqualsTheFirst) {
  EXPECT_EQ(shares({.temperature = 0}, 16), (std::map<int32_t, double>{{1, 1.0}})) << "tokens 1 and 3 are equal";
}

TEST(Sampler, SharesAreThoseOfTheSoftmax) {
  for (const double temperature : {0.5, 1.0, 3.0}) {
    const auto got = shares({.temperature = temperature}, 40000);
    double sum = 0;
    for (const float logit : kLogits) sum += std::exp(logit / temperature);
    for (int32_t token = 0; token < 6; ++token) {
      const auto found = got.find(token);
      EXPECT_NEAR(found == got.end() ? 0 : found->second, std::exp(kLogits[token] / temperature) / sum, 0.01)
          << "token " << token << " at " << temperature;
    }
  }
}

TEST(Sampler, TopKLeavesExactlySoManyTokens) {
  EXPECT_EQ(shares({.top_k = 1}, 50).size(), 1U);
  const auto two = shares({.top_k = 2}, 2000), three = shares({.top_k = 3}, 2000);
  ASSERT_EQ(two.size(), 2U);
  EXPECT_NEAR(two.at(1), 0.5, 0.05);
  EXPECT_NEAR(two.at(3), 0.5, 0.05);
  EXPECT_EQ(three.size(), 3U);
  EXPECT_TRUE(three.contains(4));
  EXPECT_EQ(shares({.temperature = 5, .top_k = 100}, 4000).size(), 6U) << "more than there are: all";
}

TEST(Sampler, ADrawHangsOnSeedSampleAndPositionAlone) {
  const std::vector<float> flat(1000, 0.0f);
  Sampler a({.seed = 7}, 1000), b({.seed = 7}, 1000), other({.seed = 8}, 1000);
  const int32_t first = a.pick(flat, 3, 11);
  EXPECT_NE(a.pick(flat, 3, 12), first);
  EXPECT_NE(a.pick(flat, 4, 11), first);
  EXPECT_NE(other.pick(flat, 3, 11), first);
  EXPECT_EQ(b.pick(flat, 3, 11), first) << "whatever was drawn before";
}

TEST(Sampler, ALogitThatIsNoNumberIsRefused) {
  Sampler sampler({}, 6);
  std::vector<float> logits = kLogits;
  logits[4] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(sampler.pick(logits, 0, 5), Error);
}

}  // namespace
}  // namespace tidemark::inference
