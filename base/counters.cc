#include "base/counters.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <thread>

#include "base/error.h"

namespace tidemark {
namespace {

bool is_prometheus_name(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
}

}  // namespace

// `series` has one entry for each label value, or one without a label. Only the deque of the kind is filled; a deque
// keeps addresses.
struct Counters::Metric {
  std::string name;
  std::string help;
  MetricKind kind = MetricKind::gauge;
  std::string label;
  std::vector<std::string> values;
  std::vector<double> upper_bounds;
  Labels facts;
  std::deque<Gauge> gauges;
  std::deque<Counter> counters;
  std::deque<Histogram> histograms;

  size_t series() const { return gauges.size() + counters.size() + histograms.size(); }
};

Histogram::Histogram(Counters& owner, std::vector<double> upper_bounds)
    : owner_(owner),
      upper_bounds_(std::move(upper_bounds)),
      buckets_(std::make_unique<std::atomic<uint64_t>[]>(upper_bounds_.size() + 1)) {
  TM_CHECK(
      std::adjacent_find(upper_bounds_.begin(), upper_bounds_.end(), std::greater_equal<>()) == upper_bounds_.end(),
      "histogram bounds must ascend");
}

void Histogram::observe(double value) {
  const auto bound = std::lower_bound(upper_bounds_.begin(), upper_bounds_.end(), value);
  const Counters::Update update(owner_);
  buckets_[bound - upper_bounds_.begin()].fetch_add(1, std::memory_order_acq_rel);
  sum_.fetch_add(value, std::memory_order_acq_rel);
}

Counters::Counters(Labels common_labels) : common_labels_(std::move(common_labels)) {
  for (const auto& [key, value] : common_labels_) TM_CHECK(is_prometheus_name(key), "bad label name '" + key + "'");
}

Counters::~Counters() = default;

Counters::Metric& Counters::find_or_add(std::string_view name, std::string_view help, MetricKind kind,
                                        std::string_view label, const std::vector<std::string_view>& values,
                                        std::vector<double> upper_bounds) {
  const std::string text(name);
  for (const std::unique_ptr<Metric>& known : metrics_) {
    Metric& m = *known;
    if (m.name != name) continue;
    TM_CHECK(m.help == help && m.kind == kind && m.label == label && m.upper_bounds == upper_bounds &&
                 std::equal(m.values.begin(), m.values.end(), values.begin(), values.end()),
             "metric " + text + " exists with another description");
    return m;
  }
  TM_CHECK(is_prometheus_name(name), "bad metric name '" + text + "'");
  TM_CHECK((kind == MetricKind::counter) == text.ends_with("_total"),
           "counters, and only they, end in _total: " + text);
  TM_CHECK(label.empty() || (is_prometheus_name(label) && !values.empty()), "bad label of metric " + text);

  Metric& m = *metrics_.emplace_back(std::make_unique<Metric>());
  m.name = text;
  m.help = help;
  m.kind = kind;
  m.label = label;
  m.values.assign(values.begin(), values.end());
  m.upper_bounds = std::move(upper_bounds);
  const size_t series = label.empty() ? 1 : values.size();
  for (size_t i = 0; i < series; ++i) {
    if (kind == MetricKind::gauge) m.gauges.emplace_back();
    if (kind == MetricKind::counter) m.counters.emplace_back();
    if (kind == MetricKind::histogram) m.histograms.emplace_back(*this, m.upper_bounds);
  }
  return m;
}

Gauge& Counters::gauge(std::string_view name, std::string_view help) {
  const std::lock_guard lock(metrics_mutex_);
  return find_or_add(name, help, MetricKind::gauge, "", {}, {}).gauges.front();
}

Counter& Counters::counter(std::string_view name, std::string_view help) {
  const std::lock_guard lock(metrics_mutex_);
  return find_or_add(name, help, MetricKind::counter, "", {}, {}).counters.front();
}

Histogram& Counters::histogram(std::string_view name, std::string_view help, std::vector<double> upper_bounds) {
  const std::lock_guard lock(metrics_mutex_);
  return find_or_add(name, help, MetricKind::histogram, "", {}, std::move(upper_bounds)).histograms.front();
}

SeriesSet<Gauge> Counters::gauges(std::string_view name, std::string_view help, std::string_view label,
                                  const std::vector<std::string_view>& values) {
  const std::lock_guard lock(metrics_mutex_);
  std::vector<Gauge*> series;
  for (Gauge& g : find_or_add(name, help, MetricKind::gauge, label, values, {}).gauges) series.push_back(&g);
  return SeriesSet<Gauge>(std::move(series));
}

SeriesSet<Counter> Counters::counters(std::string_view name, std::string_view help, std::string_view label,
                                      const std::vector<std::string_view>& values) {
  const std::lock_guard lock(metrics_mutex_);
  std::vector<Counter*> series;
  for (Counter& c : find_or_add(name, help, MetricKind::counter, label, values, {}).counters) series.push_back(&c);
  return SeriesSet<Counter>(std::move(series));
}

void Counters::info(std::string_view name, std::string_view help, const Labels& facts) {
  for (const auto& [key, value] : facts) TM_CHECK(is_prometheus_name(key), "bad label name '" + key + "'");
  const std::lock_guard lock(metrics_mutex_);
  Metric& m = find_or_add(name, help, MetricKind::gauge, "", {}, {});
  TM_CHECK(m.facts.empty(), "info " + m.name + " exists");
  m.facts = facts;
  m.gauges.front().set(1);
}

std::vector<MetricSnapshot> Counters::describe() const {
  std::vector<MetricSnapshot> out;
  out.reserve(metrics_.size());
  for (const std::unique_ptr<Metric>& metric : metrics_) {
    const Metric& m = *metric;
    MetricSnapshot& shot = out.emplace_back(MetricSnapshot{m.name, m.help, m.kind, m.upper_bounds, {}});
    for (size_t i = 0; i < m.series(); ++i) {
      Sample& sample = shot.samples.emplace_back();
      sample.labels = common_labels_;
      sample.labels.insert(sample.labels.end(), m.facts.begin(), m.facts.end());
      if (!m.label.empty()) sample.labels.emplace_back(m.label, m.values[i]);
      if (m.kind == MetricKind::histogram) sample.buckets.resize(m.upper_bounds.size() + 1);
    }
  }
  return out;
}

void Counters::copy_values(std::vector<MetricSnapshot>& out) const {
  for (size_t i = 0; i < out.size(); ++i) {
    const Metric& m = *metrics_[i];
    std::vector<Sample>& samples = out[i].samples;
    for (size_t s = 0; s < m.gauges.size(); ++s) samples[s].value = m.gauges[s].value();
    for (size_t s = 0; s < m.counters.size(); ++s) samples[s].value = m.counters[s].value();
    for (size_t s = 0; s < m.histograms.size(); ++s) {
      for (size_t b = 0; b < samples[s].buckets.size(); ++b) {
        samples[s].buckets[b] = m.histograms[s].buckets_[b].load(std::memory_order_acquire);
      }
      samples[s].sum = m.histograms[s].sum_.load(std::memory_order_acquire);
    }
  }
}

std::vector<MetricSnapshot> Counters::snapshot() const {
  const std::lock_guard lock(metrics_mutex_);
  std::vector<MetricSnapshot> out = describe();  // allocations first: copying values is all that is repeated
  while (true) {
    const uint64_t ended = groups_ended_.load(std::memory_order_acquire);
    copy_values(out);
    if (groups_begun_.load(std::memory_order_acquire) == ended) return out;
    std::this_thread::yield();
  }
}

size_t Counters::series_count() const {
  const std::lock_guard lock(metrics_mutex_);
  size_t count = 0;
  for (const std::unique_ptr<Metric>& m : metrics_) {
    count += m->gauges.size() + m->counters.size() + m->histograms.size() * (m->upper_bounds.size() + 3);
  }
  return count;
}

}  // namespace tidemark
