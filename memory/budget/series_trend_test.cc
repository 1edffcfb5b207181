#include "memory/budget/series_trend.h"

#include <gtest/gtest.h>

#include <set>

#include "memory/budget/testing/caching_workloads.h"

namespace tidemark::memory {
namespace {

constexpr double kLeakBytes = 64 << 10;
constexpr double kLeastRiseBytes = 4 << 10;
constexpr uint64_t kSeeds[] = {1, 2, 3, 4, 5, 6, 7, 8};

std::vector<double> with_leak(std::vector<double> series, int64_t from = 0) {
  for (size_t t = static_cast<size_t>(from); t < series.size(); ++t)
    series[t] += kLeakBytes * static_cast<double>(t - static_cast<size_t>(from));
  return series;
}

std::vector<double> generate(const CachingWorkload& workload, uint64_t seed, int64_t steps) {
  Random random(seed);
  return workload.generate(random, steps);
}

// Those beside which a leak of 64 KiB a step must show within 200 steps.
std::vector<CachingWorkload> workloads_that_hide_nothing() {
  std::vector<CachingWorkload> all = caching_workloads();
  std::erase_if(all, [](const CachingWorkload& workload) { return workload.hides_leaks; });
  return all;
}

class Caching : public ::testing::TestWithParam<CachingWorkload> {};

TEST_P(Caching, IsNoGrowth) {
  for (uint64_t seed : kSeeds)
    for (int64_t steps : {200, 317, 400, 1000}) {
      const SeriesTrend trend = find_trend(generate(GetParam(), seed, steps), kLeastRiseBytes);
      EXPECT_NE(trend.kind, TrendKind::straight)
          << "seed " << seed << ", " << steps << " steps: " << trend.bytes_per_step << " bytes a step";
    }
}

// The hard form: the leak is in the figure in which the cache is.
class LeakOnTop : public ::testing::TestWithParam<CachingWorkload> {};

TEST_P(LeakOnTop, IsFoundWithin200Steps) {
  for (uint64_t seed : kSeeds) {
    const SeriesTrend trend = find_trend(with_leak(generate(GetParam(), seed, 200)), kLeastRiseBytes);
    EXPECT_EQ(trend.kind, TrendKind::straight) << "seed " << seed << ": " << describe(trend.kind);
    EXPECT_NEAR(trend.bytes_per_step, kLeakBytes, kLeakBytes / 8) << "seed " << seed;
    EXPECT_GT(trend.confidence, 0.999) << "seed " << seed;
  }
}

std::string test_name(const ::testing::TestParamInfo<CachingWorkload>& info) {
  std::string name;
  bool upper = true;
  for (char c : info.param.name) {
    if (std::isalnum(static_cast<unsigned char>(c))) name += upper ? static_cast<char>(std::toupper(c)) : c;
    upper = !std::isalnum(static_cast<unsigned char>(c));
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, Caching, ::testing::ValuesIn(caching_workloads()), test_name);
INSTANTIATE_TEST_SUITE_P(All, LeakOnTop, ::testing::ValuesIn(workloads_that_hide_nothing()), test_name);

TEST(SeriesTrend, ThereAreFiftyDifferentWorkloads) {
  std::set<std::vector<double>> different;
  for (const CachingWorkload& workload : caching_workloads()) different.insert(generate(workload, 1, 200));
  EXPECT_GE(different.size(), 50u);
}

TEST(SeriesTrend, LeakThatBeginsLateIsFoundWithItsBeginning) {
  const std::vector<double> series = with_leak(std::vector<double>(300, 1e8), 120);
  const SeriesTrend trend = find_trend(series, kLeastRiseBytes);
  EXPECT_EQ(trend.kind, TrendKind::straight);
  EXPECT_NEAR(static_cast<double>(trend.first_step), 120, 15);
}

TEST(SeriesTrend, LeakThatBeganTenStepsAgoMayBeACache) {
  EXPECT_NE(find_trend(with_leak(std::vector<double>(200, 1e8), 190), kLeastRiseBytes).kind, TrendKind::straight);
}

// Whole pages of the device: 2 MiB after every 32 steps.
TEST(SeriesTrend, LeakInWholePagesIsFound) {
  std::vector<double> series;
  for (int t = 0; t < 200; ++t) series.push_back(static_cast<double>(t * (64 << 10) / (2 << 20) * (2 << 20)));
  const SeriesTrend trend = find_trend(series, 1 << 20);
  EXPECT_EQ(trend.kind, TrendKind::straight) << describe(trend.kind);
  EXPECT_NEAR(trend.bytes_per_step, kLeakBytes, kLeakBytes / 4);
}

TEST(SeriesTrend, LeakAfterALargeWarmUpIsFound) {
  std::vector<double> series;
  for (int t = 0; t < 200; ++t) series.push_back(1e8 * std::min(1.0, t / 30.0));
  EXPECT_EQ(find_trend(with_leak(series), kLeastRiseBytes).kind, TrendKind::straight);
}

TEST(SeriesTrend, AFewHundredBytesAStepAreFoundInExactBooks) {
  std::vector<double> series;
  for (int t = 0; t < 200; ++t) series.push_back(1e9 + 256.0 * t);
  const SeriesTrend trend = find_trend(series, kLeastRiseBytes);
  EXPECT_EQ(trend.kind, TrendKind::straight);
  EXPECT_NEAR(trend.bytes_per_step, 256, 1);
  EXPECT_LT(trend.detectable_bytes_per_step, 64);
}

TEST(SeriesTrend, SaysWhatItIsInstead) {
  const auto kind = [](auto value) {
    std::vector<double> series;
    for (int t = 0; t < 200; ++t) series.push_back(value(static_cast<double>(t)) * (1 << 20));
    return find_trend(series, kLeastRiseBytes).kind;
  };
  EXPECT_EQ(kind([](double) { return 7; }), TrendKind::flat);
  EXPECT_EQ(kind([](double t) { return -t; }), TrendKind::flat) << "it falls";
  EXPECT_EQ(kind([](double t) { return std::min(t, 150.0); }), TrendKind::stopped);
  EXPECT_EQ(kind([](double t) { return 20 * std::log(1 + t); }), TrendKind::noisy);
  EXPECT_EQ(kind([](double t) { return t < 90 ? 0 : 50; }), TrendKind::given_back);
  EXPECT_EQ(kind([](double t) { return t < 160 ? 0 : t - 160; }), TrendKind::flat) << "five of six floors are flat";
  EXPECT_EQ(find_trend(std::vector<double>(20), kLeastRiseBytes).kind, TrendKind::too_few_steps);
}

}  // namespace
}  // namespace tidemark::memory
