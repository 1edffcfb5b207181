#include "memory/budget/trend.h"

#include <gtest/gtest.h>

#include "memory/budget/step_floor.h"

namespace tidemark::memory {
namespace {

TEST(Trend, MedianOfOddEvenAndNone) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median({}), 0);
}

TEST(Trend, TheilSenIgnoresWildValues) {
  const std::vector<double> series = {0, 2, 4, 600, 8, 10, 12, -900, 16, 18};
  EXPECT_EQ(theil_sen_slope(series), 2);
}

// S = 8 of 10 pairs, variance 16.67: z = 7 / 4.08.
TEST(Trend, MannKendallByHand) {
  const std::vector<double> series = {1, 2, 4, 3, 5};
  EXPECT_NEAR(mann_kendall_chance(series), 0.0432, 1e-4);
  EXPECT_EQ(mann_kendall_chance(std::vector<double>{5, 4, 3}), 1);
  EXPECT_EQ(mann_kendall_chance(std::vector<double>{5, 5, 5}), 1);
}

TEST(Trend, DistanceFromALineIsItsNoise) {
  EXPECT_NEAR(distance_from_line(std::vector<double>{1, 3, 5, 7, 9}), 0, 1e-12);
  EXPECT_NEAR(distance_from_line(std::vector<double>{1, -1, 1, -1, 1, -1, 1, -1, 1}), 1, 0.5);
}

TEST(Trend, ParabolaHasItsSlopesAtTheEnds) {
  std::vector<double> series;
  for (double x = 0; x < 11; ++x) series.push_back(3 * x - 0.1 * x * x);
  const EndSlopes ends = parabola_end_slopes(series);
  EXPECT_NEAR(ends.first, 3, 1e-9);
  EXPECT_NEAR(ends.last, 1, 1e-9);
}

TEST(Trend, RampExplainsARampAndALineALine) {
  std::vector<double> ramp, line;
  for (double x = 0; x < 20; ++x) ramp.push_back(std::min(x, 12.0)), line.push_back(x);
  EXPECT_NEAR(ramp_misfit(ramp, 12), 0, 1e-9);
  EXPECT_GT(line_misfit(ramp), 1);
  EXPECT_NEAR(line_misfit(line), 0, 1e-9);
  EXPECT_GT(ramp_misfit(line, 12), 1);
}

TEST(StepFloor, PeriodIsFoundBesideARise) {
  std::vector<double> series;
  for (int t = 0; t < 200; ++t) series.push_back(5.0 * t + 1000.0 * (t % 7 == 3));
  EXPECT_EQ(find_period(series), 7u);
  const std::vector<double> steady = without_season(series, 7);
  for (size_t t = 0; t < steady.size(); ++t) EXPECT_NEAR(steady[t], 5.0 * static_cast<double>(t), 20) << t;
}

TEST(StepFloor, ARampHasNoPeriod) {
  std::vector<double> series;
  for (int t = 0; t < 200; ++t) series.push_back(std::min(t, 150));
  EXPECT_EQ(find_period(series), 0u);
}

TEST(StepFloor, BlocksEndWithTheSeriesAndKeepTheLowest) {
  const BlockMinima minima = block_minima(std::vector<double>{9, 5, 4, 6, 3, 7, 8}, 3);
  EXPECT_EQ(minima.block_steps, 3u);
  EXPECT_EQ(minima.values, (std::vector<double>{4, 3}));
}

}  // namespace
}  // namespace tidemark::memory
