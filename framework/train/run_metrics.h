// The figures of a training run, named as Prometheus shows them. Every series exists from the start; what a run does
// not use stays 0. All byte figures of one scrape come from one group of updates.
//
// To add a metric: one line in the constructor, and where it is counted.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/counters.h"
#include "framework/runtime/executor.h"
#include "framework/train/planned_run.h"

namespace tidemark::train {

class RunMetrics {
 public:
  // All references must outlive the object.
  RunMetrics(Counters& counters, const PlannedRun& run, const DeviceMemory& device);

  // After every step, on the training thread.
  void count_step(double seconds, int64_t samples, int64_t targets, double loss, double learning_rate);

  // Before a scrape, on its thread: where the executor stands, by category. Never stops the training thread.
  void refresh(const runtime::Executor& executor);

 private:
  struct DeviceBytes {
    int64_t total, free, own, own_peak, foreign, alloc_calls;
  };
  DeviceBytes read_device();

  Counters& counters_;
  const PlannedRun& run_;
  const DeviceMemory& device_;
  SeriesSet<Gauge> allocated_;
  Gauge &reserved_, &allocated_peak_, &reserved_peak_, &step_floor_, &largest_free_;
  Gauge &device_total_, &device_free_, &foreign_, &unattributed_;
  Gauge &loss_, &learning_rate_;
  Counter &alloc_calls_, &samples_, &tokens_, &steps_;
  Histogram& step_seconds_;
  int64_t alloc_calls_seen_ = 0;
  int64_t foreign_bytes_ = 0;  // read at most once a second
  std::chrono::steady_clock::time_point foreign_read_{};
};

}  // namespace tidemark::train
