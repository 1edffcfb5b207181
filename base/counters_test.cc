#include "base/counters.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace tidemark {
namespace {

TEST(Counters, SeriesAreZeroFromTheirCreation) {
  Counters counters;
  counters.gauge("tidemark_a_bytes", "A.");
  counters.counters("tidemark_b_total", "B.", "reason", {"x", "y"});
  counters.histogram("tidemark_c_seconds", "C.", {1});
  const auto shot = counters.snapshot();
  ASSERT_EQ(shot.size(), 3u);
  EXPECT_EQ(shot[0].samples[0].value, 0);
  EXPECT_EQ(shot[1].samples[1].value, 0);
  EXPECT_EQ(shot[2].samples[0].buckets, (std::vector<uint64_t>{0, 0}));
  EXPECT_EQ(counters.series_count(), 1u + 2u + 4u);
}

TEST(Counters, SnapshotHasNamesKindsLabelsAndValues) {
  Counters counters(Labels{{"rank", "0"}});
  counters.gauge("tidemark_size_bytes", "Size.").set(1LL << 52);
  const SeriesSet<Counter> calls = counters.counters("tidemark_calls_total", "Calls.", "op", {"sum", "mean"});
  calls[1].add();
  calls[1].add(2);
  counters.info("tidemark_build_info", "Build.", {{"version", "1"}});

  const auto shot = counters.snapshot();
  EXPECT_EQ(shot[0].name, "tidemark_size_bytes");
  EXPECT_EQ(shot[0].help, "Size.");
  EXPECT_EQ(shot[0].kind, MetricKind::gauge);
  EXPECT_EQ(shot[0].samples[0].value, 1LL << 52);
  EXPECT_EQ(shot[1].kind, MetricKind::counter);
  EXPECT_EQ(shot[1].samples[1].labels, (Labels{{"rank", "0"}, {"op", "mean"}}));
  EXPECT_EQ(shot[1].samples[0].value, 0);
  EXPECT_EQ(shot[1].samples[1].value, 3);
  EXPECT_EQ(shot[2].samples[0].labels, (Labels{{"rank", "0"}, {"version", "1"}}));
  EXPECT_EQ(shot[2].samples[0].value, 1);
}

TEST(Counters, HistogramBoundsAreInclusive) {
  Counters counters;
  Histogram& h = counters.histogram("tidemark_wait_seconds", "Wait.", {0.1, 1});
  for (const double v : {0.05, 0.1, 0.5, 7.0}) h.observe(v);
  const Sample sample = counters.snapshot()[0].samples[0];
  EXPECT_EQ(sample.buckets, (std::vector<uint64_t>{2, 1, 1}));
  EXPECT_DOUBLE_EQ(sample.sum, 7.65);
}

TEST(Counters, AskingAgainGivesTheSameSeries) {
  Counters counters;
  counters.gauge("tidemark_a", "A.").set(5);
  EXPECT_EQ(&counters.gauge("tidemark_a", "A."), &counters.gauge("tidemark_a", "A."));
  EXPECT_EQ(counters.snapshot().size(), 1u);
}

TEST(CountersDeathTest, ContradictionsAreBugs) {
  Counters counters;
  counters.gauge("tidemark_a", "A.");
  EXPECT_DEATH(counters.gauge("tidemark_a", "B."), "another description");
  EXPECT_DEATH(counters.gauge("Tidemark", "A."), "bad metric name");
  EXPECT_DEATH(counters.counter("tidemark_steps", "A."), "end in _total");
  EXPECT_DEATH(counters.histogram("tidemark_h", "A.", {2, 1}), "must ascend");
}

TEST(Counters, UpdatesOfManyThreadsAreNotLost) {
  Counters counters;
  Counter& c = counters.counter("tidemark_n_total", "N.");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10000; ++i) c.add();
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(c.value(), 40000);
}

// Two writers keep the sum of two gauges at 0 and the sum of a histogram at its count: no snapshot may see otherwise.
TEST(Counters, SnapshotsNeverShowHalfAGroup) {
  Counters counters;
  Gauge& a = counters.gauge("tidemark_a", "A.");
  Gauge& b = counters.gauge("tidemark_b", "B.");
  Histogram& h = counters.histogram("tidemark_h", "H.", {0.5});
  std::atomic<bool> stop{false};
  const auto write = [&](double step) {
    while (!stop) {
      {
        const Counters::Update update(counters);
        a.add(step);
        b.add(-step);
        h.observe(1);
      }
      std::this_thread::yield();
    }
  };
  std::thread first(write, 1), second(write, 10);
  int torn = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  int snapshots = 0;
  for (; snapshots < 1000 || std::chrono::steady_clock::now() < end; ++snapshots) {
    const auto shot = counters.snapshot();
    if (shot[0].samples[0].value + shot[1].samples[0].value != 0) ++torn;
    if (shot[2].samples[0].sum != static_cast<double>(shot[2].samples[0].buckets[1])) ++torn;
  }
  stop = true;
  first.join();
  second.join();
  EXPECT_EQ(torn, 0) << "of " << snapshots;
  EXPECT_GT(a.value(), 0);
}

}  // namespace
}  // namespace tidemark
