// The figures of a training run, named as Prometheus shows them. Every series exists from the start; what a run does
// not use stays 0. All byte figures of one scrape come from one group of updates.
//
// To add a metric: one line in the constructor, and where it is counted.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/counters.h"
#include "framework/train/run_books.h"
#include "memory/budget/watermark.h"

namespace tidemark::train {

class RunMetrics {
 public:
  // All references must outlive the object.
  RunMetrics(Counters& counters, const PlannedRun& run, const DeviceMemory& device, memory::Watermark watermark);

  // After every step, on the training thread. Logs a warning when the device's bytes have crossed the watermark.
  void count_step(double seconds, int64_t samples, int64_t targets, double loss, double learning_rate);

  // Before a scrape, on its thread: where the executor stands, by category. Never stops the training thread.
  void refresh(const TrainingRun& run);

 private:
  DeviceUse read_device();
  void watch_memory();
  void count_recomputation(double seconds, int64_t samples);
  void show(const memory::MemoryFigures& figures);

  Counters& counters_;
  const PlannedRun& run_;
  const DeviceMemory& device_;
  memory::Watermark watermark_;
  SeriesSet<Gauge> allocated_;
  Gauge &reserved_, &cached_, &slack_, &allocated_peak_, &reserved_peak_, &step_floor_, &largest_free_;
  Gauge &device_total_, &device_free_, &foreign_, &unattributed_;
  Gauge &loss_, &learning_rate_;
  Counter &alloc_calls_, &alloc_retries_, &ooms_, &watermark_crossings_, &samples_, &tokens_, &steps_;
  SeriesSet<Counter> replans_;  // by kReplanReasons
  Counter &recomputed_ops_, &recompute_seconds_;
  Histogram& step_seconds_;
  int64_t foreign_bytes_ = 0;  // read at most once a second
  std::chrono::steady_clock::time_point foreign_read_{};
};

}  // namespace tidemark::train
