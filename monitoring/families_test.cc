#include "monitoring/families.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tidemark::monitoring {
namespace {

TEST(Families, KeepNamesKindsLabelsAndValues) {
  Counters counters(Labels{{"rank", "0"}});
  counters.gauge("tidemark_level", "Level.").set(2.5);
  counters.counters("tidemark_calls_total", "Calls.", "op", {"read", "write"})[1].add(3);
  const auto families = to_families(counters.snapshot());
  ASSERT_EQ(families.size(), 2u);
  EXPECT_EQ(families[0].name, "tidemark_level");
  EXPECT_EQ(families[0].help, "Level.");
  EXPECT_EQ(families[0].type, prometheus::MetricType::Gauge);
  EXPECT_EQ(families[0].metric[0].gauge.value, 2.5);
  EXPECT_EQ(families[1].type, prometheus::MetricType::Counter);
  ASSERT_EQ(families[1].metric.size(), 2u);
  EXPECT_EQ(families[1].metric[0].counter.value, 0);
  EXPECT_EQ(families[1].metric[1].counter.value, 3);
  const std::vector<prometheus::ClientMetric::Label> labels = {{"rank", "0"}, {"op", "write"}};
  EXPECT_EQ(families[1].metric[1].label, labels);
}

TEST(Families, HistogramBucketsAreCumulativeUpToInfinity) {
  Counters counters;
  Histogram& seconds = counters.histogram("tidemark_step_seconds", "Steps.", {1, 2});
  for (const double value : {0.5, 1.0, 1.5, 9.0}) seconds.observe(value);
  const auto families = to_families(counters.snapshot());
  const auto& histogram = families.at(0).metric.at(0).histogram;
  EXPECT_EQ(histogram.sample_count, 4u);
  EXPECT_EQ(histogram.sample_sum, 12.0);
  ASSERT_EQ(histogram.bucket.size(), 3u);
  EXPECT_EQ(histogram.bucket[0].cumulative_count, 2u);
  EXPECT_EQ(histogram.bucket[1].cumulative_count, 3u);
  EXPECT_EQ(histogram.bucket[2].cumulative_count, 4u);
  EXPECT_TRUE(std::isinf(histogram.bucket[2].upper_bound));
}

}  // namespace
}  // namespace tidemark::monitoring
