// From a configuration to a compiled program and its numbers, before any device memory is touched. `tidemark plan`
// prints it, `tidemark train` runs it: the same function, so the same plan.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/device_memory.h"
#include "framework/config/load.h"
#include "framework/optim/schedule.h"
#include "framework/runtime/dynamic_executor.h"
#include "framework/train/cost_source.h"
#include "framework/train/training_program.h"
#include "memory/budget/budget.h"

namespace tidemark::train {

// What compiling for a budget gives.
struct CompiledRun {
  std::map<std::string, models::Initializer> initializers;
  std::unique_ptr<compile::Program> program;  // a fixed address: executors hold on to it
  int64_t arena_bytes = 0;                    // of the arena: the program's; of packed data without micro-batches
  // Of packed data: how the allocator's bodies run, and in how many bytes at most (packed_bodies.h); else 0.
  runtime::DynamicOptions dynamic;
  int64_t block_bytes = 0;
  int64_t planned_peak_bytes = 0;             // page rounding included: what the device will have given
  double recompute_overhead = 0;              // of the body with the most of it: extra by other cost; 0 without
  double recompute_overhead_lower_bound = 0;  // of any schedule of that body within the budget
  // Sum of the costs of a full step: as PlanOptions ask, and not of packed data, whose bodies come with their shapes.
  std::optional<double> predicted_step_seconds;
};

// A micro-batch that was looked at for a budget.
struct MicroBatchOption {
  int64_t micro_batch = 0;
  bool fits = false;
  std::string why_not;  // where it does not fit or has other bits; the rest is then empty
  int64_t planned_peak_bytes = 0;
  double recompute_overhead = 0;
  double recompute_overhead_lower_bound = 0;
  std::optional<double> predicted_step_seconds;
};

struct PlannedRun : CompiledRun {
  std::unique_ptr<data::Dataset> dataset;
  std::unique_ptr<optim::Optimizer> optimizer;
  optim::Schedule schedule;
  BatchPlan batch;
  int threads = 1;
  int64_t total_steps = 0;
  int64_t steps_per_epoch = 0;
  int64_t targets_per_sample = 1;        // tokens of a sample; 1 for images
  const models::Model* model = nullptr;  // of the configuration
  const ops::OpSet* ops = nullptr;
  int64_t budget_bytes = 0;  // hard limit on device bytes
  // Note [Choice of the micro-batch]: all that were looked at, the largest first; batch has the one that was taken.
  std::vector<MicroBatchOption> micro_batches;
  std::string cost_digest;  // of the measured costs; empty where none were needed
  CostNote costs;
  std::shared_ptr<CostSource> cost_source;  // of the first compile_run, and of every further one
  double plan_seconds = 0;                  // wall time of graphs, kernels and offsets
  std::string plan_digest;                  // SHA-256 of schedule, kernels and offsets
};

struct PlanOptions {
  bool estimate = false;                                   // costs from FLOPs and bytes, nothing is measured
  compile::CostSum predict_step = compile::CostSum::none;  // whether to fill predicted_step_seconds
  std::function<void(const compile::Measuring&)> on_measuring;
  std::function<bool()> stop_measuring;  // true between two measurements: compile::MeasuringStopped is thrown
  // Costs that are known, too, and those that any other budget asks for: their figures are replaced.
  bool measure_again = false;
  std::shared_ptr<CostSource> costs;  // of another run of this configuration, whose figures serve this one, too
};

// Throws Error(config) for what the configuration cannot mean, Error(data) for its data.
// `device` is asked for sizes and page granularity only. Does not check the budget: see check_budget. `config` and
// `ops` must outlive the result.
PlannedRun plan_run(const config::LoadedConfig& config, const ops::OpSet& ops, const DeviceMemory& device,
                    const memory::Budget& budget, const PlanOptions& options = {});

// Note [Choice of the micro-batch]
// memory.micro_batch 0 is the whole global batch at once, and it stays so where that fits the budget and nothing has to
// run again. Where it does not, and where the bits of a step do not hang on the micro-batch (Note [Sums of groups] in
// graph/sample_groups.h), smaller ones are planned for the same budget: the global batch in 2, 4, 8 .. parts of whole
// groups of sum_batch, down to one that fits without recomputation. Of those that fit, the one with the shortest
// predicted step is taken. Smaller micro-batches need less memory for activations, but keep all gradients over the
// step; neither memory nor time is taken to be monotone.

// Its two halves, for callers that plan one configuration for several budgets: everything but graphs and program, then
// those for a hard limit on device bytes. compile_run throws compile::BudgetRefusal if recomputation finds no schedule;
// what one call has measured is there for the next, in whatever file it is kept or in none.
PlannedRun prepare_run(const config::LoadedConfig& config);
void compile_run(PlannedRun& run, const config::LoadedConfig& config, const ops::OpSet& ops, const DeviceMemory& device,
                 int64_t budget_bytes, const PlanOptions& options);

// memory.budget on this device, without one all of the device but memory.headroom. Sets the device's own limit.
memory::Budget make_budget(const config::LoadedConfig& config, DeviceMemory& device);

// Throws Error(out_of_memory) with both numbers, the tensor at the peak and the setting to change.
void check_budget(const PlannedRun& run, const memory::Budget& budget);

}  // namespace tidemark::train
