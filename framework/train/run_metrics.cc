#include "framework/train/run_metrics.h"

#include <algorithm>
#include <vector>

#include "base/version.h"

namespace tidemark::train {
namespace {

// How much of a body's time its further runs take, by the costs that it was planned with.
double recomputed_share(const compile::Recomputation& r) { return r.overhead / (1 + r.overhead); }

std::vector<std::string_view> category_names() {
  std::vector<std::string_view> names;
  for (int c = 0; c < kCategoryCount; ++c) names.push_back(to_string(static_cast<Category>(c)));
  return names;
}

const std::vector<double> kStepBuckets{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};
const std::vector<double> kPlanBuckets{0.001, 0.01, 0.1, 1, 10};

constexpr auto kForeignAge = std::chrono::seconds(1);

enum ReplanReason : size_t { kPressure, kRelief, kNewShape };
const std::vector<std::string_view> kReplanReasons{"pressure", "relief", "new_shape"};

// What others count, brought up to date.
void raise_to(Counter& counter, int64_t total) {
  const double behind = static_cast<double>(total) - counter.value();
  if (behind > 0) counter.add(behind);
}

// Features that this build does not have yet: their series are there and stay 0.
void declare_unused(Counters& c) {
  c.gauge("tidemark_device_memory_context_bytes", "Taken by the driver's context, modules and libraries.");
  c.gauges("tidemark_comm_memory_bytes", "Communication buffers.", "kind", {"bucket", "staging"});
  c.counters("tidemark_batch_changes_total", "Changes of the micro-batch.", "direction", {"up", "down"});
  c.counters("tidemark_comm_bytes_total", "Bytes moved between ranks.", "op",
             {"all_reduce", "reduce_scatter", "all_gather"});
}

}  // namespace

RunMetrics::RunMetrics(Counters& c, const PlannedRun& run, const DeviceMemory& device, memory::Watermark watermark)
    : counters_(c),
      run_(run),
      device_(device),
      watermark_(watermark),
      allocated_(c.gauges("tidemark_memory_allocated_bytes", "Live bytes by purpose.", "category", category_names())),
      reserved_(c.gauge("tidemark_memory_reserved_bytes", "Bytes that the process holds on the device.")),
      cached_(c.gauge("tidemark_memory_cached_bytes", "Wholly free pages kept by the allocator.")),
      slack_(c.gauge("tidemark_memory_slack_bytes", "Free bytes in pages of the allocator that live blocks lie in.")),
      allocated_peak_(
          c.gauge("tidemark_memory_allocated_peak_bytes", "Highest live bytes of the plan's instructions.")),
      reserved_peak_(c.gauge("tidemark_memory_reserved_peak_bytes", "Highest reserved bytes so far.")),
      step_floor_(c.gauge("tidemark_memory_step_floor_bytes", "Live bytes between two steps.")),
      largest_free_(c.gauge("tidemark_largest_free_block_bytes",
                            "Largest free range of the arena between two steps, or of the allocator.")),
      device_total_(c.gauge("tidemark_device_memory_total_bytes", "Size of the device.")),
      device_free_(c.gauge("tidemark_device_memory_free_bytes", "Bytes that nobody uses.")),
      foreign_(c.gauge("tidemark_device_memory_foreign_bytes", "Held by other processes.")),
      unattributed_(
          c.gauge("tidemark_device_memory_unattributed_bytes", "Total less reserved, foreign and free bytes.")),
      loss_(c.gauge("tidemark_train_loss", "Loss of the last step.")),
      learning_rate_(c.gauge("tidemark_learning_rate", "Learning rate of the last step.")),
      alloc_calls_(c.counter("tidemark_device_alloc_calls_total", "Calls that asked the device for memory.")),
      alloc_retries_(c.counter("tidemark_alloc_retries_total", "Requests that succeeded after a retry.")),
      ooms_(c.counter("tidemark_ooms_total", "Requests refused for want of memory.")),
      watermark_crossings_(c.counter("tidemark_memory_watermark_crossings_total",
                                     "Times that reserved bytes rose above the watermark.")),
      samples_(c.counter("tidemark_samples_total", "Samples trained on.")),
      tokens_(c.counter("tidemark_tokens_total", "Tokens trained on; 0 for data without tokens.")),
      steps_(c.counter("tidemark_steps_total", "Optimizer steps.")),
      replans_(c.counters("tidemark_replans_total", "Plans made while running.", "reason", kReplanReasons)),
      recomputed_ops_(c.counter("tidemark_recomputed_ops_total", "Instructions run again to save memory.")),
      recompute_seconds_(c.counter("tidemark_recompute_seconds_total",
                                   "Their part of the step times, by the costs that the plan was made with.")),
      step_seconds_(c.histogram("tidemark_step_duration_seconds", "Wall time of a step.", kStepBuckets)) {
  declare_unused(c);
  const compile::Program& program = *run.program;
  c.gauge("tidemark_memory_budget_bytes", "Hard limit on reserved bytes.").set(static_cast<double>(run.budget_bytes));
  c.gauge("tidemark_memory_watermark_bytes",
          "From so many reserved bytes on is warned, once, always above the plan's own peak; 0: never.")
      .set(static_cast<double>(watermark_.line_bytes()));
  c.gauge("tidemark_arena_planned_peak_bytes", "Planned peak, page rounding included.")
      .set(static_cast<double>(run.planned_peak_bytes));
  c.gauge("tidemark_arena_lower_bound_bytes", "No layout of this schedule needs less.")
      .set(static_cast<double>(program.lower_bound_bytes));
  c.gauge("tidemark_arena_capacity_bytes", "Bytes of the arena.").set(static_cast<double>(run.arena_bytes));
  c.gauge("tidemark_batch_samples", "Samples of a global batch.").set(static_cast<double>(run.batch.global_batch));
  c.gauge("tidemark_accumulation_steps", "Micro-batches of a step.")
      .set(static_cast<double>(run.batch.accumulation_steps()));
  c.histogram("tidemark_plan_duration_seconds", "Wall time of planning.", kPlanBuckets).observe(run.plan_seconds);
  c.info("tidemark_build_info", "What was built.", {{"version", kVersion}, {"compiler", __VERSION__}});
  c.info("tidemark_run_info", "The run.", {{"model", program.name}, {"plan", run.plan_digest.substr(0, 16)}});
  allocated_peak_.set(static_cast<double>(memory::sum(program.peak_categories)));
  step_floor_.set(static_cast<double>(program.run_segment_bytes));
  largest_free_.set(static_cast<double>(run.arena_bytes - program.run_segment_bytes));
}

void RunMetrics::count_step(double seconds, int64_t samples, int64_t targets, double loss, double learning_rate) {
  watch_memory();
  const Counters::Update together(counters_);
  step_seconds_.observe(seconds);
  steps_.add();
  samples_.add(static_cast<double>(samples));
  if (run_.targets_per_sample > 1) tokens_.add(static_cast<double>(targets));
  loss_.set(loss);
  learning_rate_.set(learning_rate);
  count_recomputation(seconds, samples);
}

// Bodies of packed data never run anything again.
void RunMetrics::count_recomputation(double seconds, int64_t samples) {
  if (run_.batch.packed()) return;
  const char* training = run_.batch.accumulates() ? "micro_batch" : "step";
  for (const int64_t n : run_.batch.micro_batches(samples)) {
    const compile::Recomputation& r = run_.program->body(body_name(training, n)).recomputation;
    recomputed_ops_.add(static_cast<double>(r.further_runs));
    recompute_seconds_.add(seconds * recomputed_share(r) * static_cast<double>(n) / static_cast<double>(samples));
  }
}

void RunMetrics::watch_memory() {
  const int64_t bytes = device_.committed_bytes();
  if (!watermark_.update(bytes)) return;
  watermark_crossings_.add();
  memory::warn_of_watermark(watermark_, run_.program->name, bytes, run_.budget_bytes);
}

// What other processes hold of the host takes a look at each of them, so it is not asked for at every scrape; other
// devices tell all of their use at once.
DeviceUse RunMetrics::read_device() {
  if (device_.kind() != DeviceKind::cpu) return device_.use();
  const auto now = std::chrono::steady_clock::now();
  if (now - foreign_read_ >= kForeignAge) {
    foreign_bytes_ = device_.foreign_bytes();
    foreign_read_ = now;
  }
  return {.total_bytes = device_.capacity_bytes(),
          .free_bytes = device_.free_bytes(),
          .own_bytes = device_.committed_bytes(),
          .foreign_bytes = foreign_bytes_};
}

void RunMetrics::refresh(const TrainingRun& run) {
  // Slow, so before the group of updates.
  const DeviceUse use = read_device();
  const int64_t ranges_bytes = device_.committed_bytes() - device_.created_bytes();
  const int64_t arena_bytes = std::min(run.arena().capacity_bytes(), ranges_bytes);
  show(read_figures(device_, read_books(run, arena_bytes), use));
  if (run.dynamic() != nullptr) raise_to(replans_[kNewShape], run.dynamic()->counts().plans);
}

void RunMetrics::show(const memory::MemoryFigures& figures) {
  const memory::MemoryBooks& books = figures.books;
  const Counters::Update together(counters_);
  for (size_t c = 0; c < books.allocated.size(); ++c) allocated_[c].set(static_cast<double>(books.allocated[c]));
  raise_to(alloc_calls_, figures.alloc_calls);
  raise_to(alloc_retries_, books.retries);
  raise_to(ooms_, books.out_of_memory);
  reserved_.set(static_cast<double>(figures.device.own_bytes));
  reserved_peak_.set(static_cast<double>(device_.peak_committed_bytes()));
  cached_.set(static_cast<double>(books.cached_bytes));
  slack_.set(static_cast<double>(books.slack_bytes));
  largest_free_.set(static_cast<double>(books.largest_free_block_bytes));
  device_total_.set(static_cast<double>(figures.device.total_bytes));
  device_free_.set(static_cast<double>(figures.device.free_bytes));
  foreign_.set(static_cast<double>(std::max<int64_t>(0, figures.device.foreign_bytes)));
  unattributed_.set(static_cast<double>(figures.unattributed_bytes));
}

}  // namespace tidemark::train
