#include "memory/budget/growth_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "memory/budget/trend.h"

namespace tidemark::memory {
namespace {

constexpr std::string_view kUnattributed = "unattributed", kHost = "host", kReserved = "reserved";

struct Series {
  std::string name;
  std::vector<double> values;
  int64_t least_rise_bytes;
};

template <class Figure>
Series series_of(std::string_view name, std::span<const GrowthSample> samples, int64_t least_rise_bytes,
                 Figure figure) {
  Series series{std::string(name), {}, least_rise_bytes};
  series.values.reserve(samples.size());
  for (const GrowthSample& sample : samples) series.values.push_back(static_cast<double>(figure(sample)));
  return series;
}

// Note [Declared caches]: the bytes of an entry are the median of what the host gained for each new one.
double bytes_of_entry(std::span<const GrowthSample> samples) {
  constexpr size_t kLag = 10;  // steps: the noise of one is as large as an entry
  std::vector<double> each;
  for (size_t i = kLag; i < samples.size(); ++i) {
    const auto entries = samples[i].host_cache_entries - samples[i - kLag].host_cache_entries;
    const auto bytes = static_cast<double>(samples[i].host_bytes - samples[i - kLag].host_bytes);
    if (entries > 0) each.push_back(bytes / static_cast<double>(entries));
  }
  return std::max(0.0, median(std::move(each)));
}

Series host_series(std::span<const GrowthSample> samples, int64_t least_rise_bytes) {
  const double entry_bytes = bytes_of_entry(samples);
  return series_of(kHost, samples, least_rise_bytes, [entry_bytes](const GrowthSample& s) {
    return static_cast<double>(s.host_bytes) - entry_bytes * static_cast<double>(s.host_cache_entries);
  });
}

std::vector<Series> all_series(std::span<const GrowthSample> samples, const GrowthOptions& options) {
  std::vector<Series> all;
  for (size_t c = 0; c < kCategoryCount; ++c)
    all.push_back(series_of(to_string(static_cast<Category>(c)), samples, options.least_allocated_rise_bytes,
                            [c](const GrowthSample& s) { return s.allocated[c]; }));
  all.push_back(series_of(kUnattributed, samples, options.least_device_rise_bytes,
                          [](const GrowthSample& s) { return s.unattributed_bytes; }));
  all.push_back(host_series(samples, options.least_host_rise_bytes));
  all.push_back(series_of(kReserved, samples, options.least_device_rise_bytes,
                          [](const GrowthSample& s) { return s.reserved_bytes; }));
  return all;
}

void take(GrowthVerdict& verdict, const NamedTrend& named) {
  verdict.growing = true;
  verdict.category = named.name;
  verdict.bytes_per_step = std::llround(named.trend.bytes_per_step);
  verdict.first_step = named.trend.first_step;
  verdict.confidence = named.trend.confidence;
}

// Reserved comes last in the list, so everything else has been seen.
void consider(GrowthVerdict& verdict, const NamedTrend& named) {
  if (named.trend.kind != TrendKind::straight) return;
  if (named.name == kReserved && verdict.growing) return;
  if (std::llround(named.trend.bytes_per_step) > verdict.bytes_per_step) take(verdict, named);
}

void note_detectable(GrowthVerdict& verdict, const NamedTrend& named) {
  const int64_t bytes = std::llround(named.trend.detectable_bytes_per_step);
  if (named.name == kHost) verdict.detectable_host_bytes_per_step = bytes;
  if (named.name == kHost || named.name == kUnattributed || named.name == kReserved) return;
  verdict.detectable_bytes_per_step = std::max(verdict.detectable_bytes_per_step, bytes);
}

std::string rate(double bytes_per_step) { return format_bytes(std::llround(bytes_per_step)) + " a step"; }

}  // namespace

GrowthVerdict judge_growth(std::span<const GrowthSample> samples, const GrowthOptions& options) {
  GrowthVerdict verdict;
  verdict.steps = static_cast<int64_t>(samples.size());
  for (const Series& series : all_series(samples, options)) {
    const NamedTrend named{series.name, find_trend(series.values, static_cast<double>(series.least_rise_bytes))};
    note_detectable(verdict, named);
    consider(verdict, named);
    if (named.trend.kind != TrendKind::flat) verdict.trends.push_back(named);
  }
  return verdict;
}

std::string describe(const GrowthVerdict& verdict) {
  std::string text;
  if (verdict.growing) {
    text = fmt::format("growing: {} by {} since step {} of {} (confidence {:.4f})", verdict.category,
                       rate(static_cast<double>(verdict.bytes_per_step)), verdict.first_step, verdict.steps,
                       verdict.confidence);
  } else if (!verdict.trends.empty() && verdict.trends.front().trend.kind == TrendKind::too_few_steps) {
    return fmt::format("stable as far as {} steps can tell: run more of them", verdict.steps);
  } else {
    text = fmt::format("stable over {} steps: an even rise of {} in the books or of {} on the host would have shown",
                       verdict.steps, rate(static_cast<double>(verdict.detectable_bytes_per_step)),
                       rate(static_cast<double>(verdict.detectable_host_bytes_per_step)));
  }
  for (const NamedTrend& named : verdict.trends) {
    if (named.name == verdict.category) continue;
    text += fmt::format("\n{} {} ({})", named.name, describe(named.trend.kind), rate(named.trend.bytes_per_step));
  }
  return text;
}

}  // namespace tidemark::memory
