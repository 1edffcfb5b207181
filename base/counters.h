// The figures that rooms count and that monitoring exports. Rooms hold references to single series and update them with
// one atomic operation; monitoring takes snapshots. There is no global registry: the program owns a Counters object.
//
// To add a metric: one line where the owning room takes its series from Counters. A series exists from that line on and
// is 0 until something is counted.
//
// Note [Consistent snapshots]
// A snapshot shows a group of updates (Counters::Update) whole or not at all, and no writer ever waits for it. Two
// numbers count the groups begun and the groups ended. A reader loads `ended`, copies all values, then loads `begun`:
// if the two are equal, every group begun so far had ended before the copy started. Otherwise it copies again. Writers
// of several threads need no order among themselves, and groups may nest. Values are stored with release and loaded
// with acquire order, so a reader that sees a value of a group sees that the group has begun. Limit: a reader waits
// while writers are inside a group without any pause, so groups are short and never wait for anything.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tidemark {

class Counters;

// A figure that goes up and down. Bytes up to 2^53 are exact.
class Gauge {
 public:
  void set(double value) { value_.store(value, std::memory_order_release); }
  void add(double delta) { value_.fetch_add(delta, std::memory_order_acq_rel); }
  double value() const { return value_.load(std::memory_order_acquire); }

 private:
  std::atomic<double> value_{0};
};

// A figure that only goes up.
class Counter {
 public:
  void add(double amount = 1) { value_.fetch_add(amount, std::memory_order_acq_rel); }
  double value() const { return value_.load(std::memory_order_acquire); }

 private:
  std::atomic<double> value_{0};
};

// Observations by size. A snapshot shows each observation whole.
class Histogram {
 public:
  Histogram(Counters& owner, std::vector<double> upper_bounds);

  void observe(double value);
  const std::vector<double>& upper_bounds() const { return upper_bounds_; }

 private:
  friend class Counters;
  Counters& owner_;
  const std::vector<double> upper_bounds_;            // ascending, inclusive; a last bucket holds the rest
  std::unique_ptr<std::atomic<uint64_t>[]> buckets_;  // upper_bounds_.size() + 1 counts, not cumulative
  std::atomic<double> sum_{0};
};

// Series of one metric that differ in one label whose values were given at creation. Index: position of the value in
// that list, so an enum whose names made the list indexes it.
template <class Series>
class SeriesSet {
 public:
  explicit SeriesSet(std::vector<Series*> series) : series_(std::move(series)) {}
  Series& operator[](size_t index) const { return *series_.at(index); }
  size_t size() const { return series_.size(); }

 private:
  std::vector<Series*> series_;
};

using Labels = std::vector<std::pair<std::string, std::string>>;

enum class MetricKind { gauge, counter, histogram };

// One series of a snapshot. `buckets` (not cumulative, one more than upper_bounds) and `sum` are for histograms,
// `value` for the others.
struct Sample {
  Labels labels;
  double value = 0;
  std::vector<uint64_t> buckets;
  double sum = 0;
};

struct MetricSnapshot {
  std::string name;
  std::string help;
  MetricKind kind = MetricKind::gauge;
  std::vector<double> upper_bounds;
  std::vector<Sample> samples;
};

class Counters {
 public:
  // Labels that every series carries, such as Labels{{"device", "cpu"}, {"rank", "0"}}.
  explicit Counters(Labels common_labels = {});
  ~Counters();
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  // Names are full Prometheus names ("tidemark_steps_total"); counters end in _total. Asking again with the same
  // arguments gives the same series; with others it is a bug and aborts. References live as long as this object.
  // Thread-safe.
  Gauge& gauge(std::string_view name, std::string_view help);
  Counter& counter(std::string_view name, std::string_view help);
  Histogram& histogram(std::string_view name, std::string_view help, std::vector<double> upper_bounds);
  SeriesSet<Gauge> gauges(std::string_view name, std::string_view help, std::string_view label,
                          const std::vector<std::string_view>& values);
  SeriesSet<Counter> counters(std::string_view name, std::string_view help, std::string_view label,
                              const std::vector<std::string_view>& values);
  // A gauge that is always 1 and carries facts as labels ("tidemark_build_info"). Once per name.
  void info(std::string_view name, std::string_view help, const Labels& facts);

  // While an object of it lives, no snapshot is taken: updates in between appear together. Keep it short.
  class Update {
   public:
    explicit Update(Counters& counters) : counters_(counters) {
      counters_.groups_begun_.fetch_add(1, std::memory_order_acq_rel);
    }
    ~Update() { counters_.groups_ended_.fetch_add(1, std::memory_order_acq_rel); }
    Update(const Update&) = delete;
    Update& operator=(const Update&) = delete;

   private:
    Counters& counters_;
  };

  // All metrics in the order of their creation, consistently. See Note [Consistent snapshots].
  std::vector<MetricSnapshot> snapshot() const;

  // Series that a scrape shows, a histogram counting one for each bucket, one for its sum and one for its count.
  size_t series_count() const;

 private:
  struct Metric;

  Metric& find_or_add(std::string_view name, std::string_view help, MetricKind kind, std::string_view label,
                      const std::vector<std::string_view>& values, std::vector<double> upper_bounds);
  std::vector<MetricSnapshot> describe() const;
  void copy_values(std::vector<MetricSnapshot>& out) const;

  const Labels common_labels_;
  mutable std::mutex metrics_mutex_;  // guards the list, not the values: updates never take it
  std::vector<std::unique_ptr<Metric>> metrics_;
  std::atomic<uint64_t> groups_begun_{0};
  std::atomic<uint64_t> groups_ended_{0};
};

}  // namespace tidemark
