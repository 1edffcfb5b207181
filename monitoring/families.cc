#include "monitoring/families.h"

#include <limits>

#include "base/error.h"

namespace tidemark::monitoring {
namespace {

prometheus::MetricType type_of(MetricKind kind) {
  switch (kind) {
    case MetricKind::gauge:
      return prometheus::MetricType::Gauge;
    case MetricKind::counter:
      return prometheus::MetricType::Counter;
    case MetricKind::histogram:
      return prometheus::MetricType::Histogram;
  }
  TM_CHECK(false, "unknown kind of metric");
}

prometheus::ClientMetric::Histogram histogram_of(const MetricSnapshot& metric, const Sample& sample) {
  TM_CHECK(sample.buckets.size() == metric.upper_bounds.size() + 1, "buckets of " + metric.name);
  prometheus::ClientMetric::Histogram histogram;
  histogram.sample_sum = sample.sum;
  for (size_t i = 0; i < sample.buckets.size(); ++i) {
    const bool last = i == metric.upper_bounds.size();
    histogram.sample_count += sample.buckets[i];
    histogram.bucket.push_back(
        {histogram.sample_count, last ? std::numeric_limits<double>::infinity() : metric.upper_bounds[i]});
  }
  return histogram;
}

prometheus::ClientMetric series_of(const MetricSnapshot& metric, const Sample& sample) {
  prometheus::ClientMetric series;
  for (const auto& [name, value] : sample.labels) series.label.push_back({name, value});
  switch (metric.kind) {
    case MetricKind::gauge:
      series.gauge.value = sample.value;
      break;
    case MetricKind::counter:
      series.counter.value = sample.value;
      break;
    case MetricKind::histogram:
      series.histogram = histogram_of(metric, sample);
      break;
  }
  return series;
}

}  // namespace

std::vector<prometheus::MetricFamily> to_families(const std::vector<MetricSnapshot>& snapshot) {
  std::vector<prometheus::MetricFamily> families;
  families.reserve(snapshot.size());
  for (const MetricSnapshot& metric : snapshot) {
    prometheus::MetricFamily& family = families.emplace_back();
    family.name = metric.name;
    family.help = metric.help;
    family.type = type_of(metric.kind);
    for (const Sample& sample : metric.samples) family.metric.push_back(series_of(metric, sample));
  }
  return families;
}

}  // namespace tidemark::monitoring
