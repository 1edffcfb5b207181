#include "framework/train/budget_compiler.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "framework/train/packed_bodies.h"
#include "framework/train/peak_body.h"
#include "framework/train/plan_digest.h"

namespace tidemark::train {
namespace {

// Whole pages within the limit: what the arena may have.
int64_t arena_budget(int64_t limit_bytes, const DeviceMemory& device) {
  return limit_bytes / device.granularity_bytes() * device.granularity_bytes();
}

void note_recomputation(PlannedRun& run) {
  run.recompute_overhead = run.recompute_overhead_lower_bound = 0;
  for (const compile::Body& body : run.program->bodies) {
    if (body.recomputation.overhead < run.recompute_overhead) continue;
    run.recompute_overhead = body.recomputation.overhead;
    run.recompute_overhead_lower_bound = body.recomputation.overhead_lower_bound;
  }
}

compile::CompileOptions compile_options(const config::Config& config, int threads) {
  compile::CompileOptions options;
  options.name = std::string(config.model->kind());
  options.threads = threads;
  options.recompute = config.memory.recompute == "auto" ? "search" : config.memory.recompute;
  options.planner = config.memory.planner;
  options.debug_guards = config.memory.debug;
  return options;
}

// What the arena holds of packed data, and the bound on the blocks of its micro-batches.
void plan_packed(PlannedRun& run, const config::Config& config, const DeviceMemory& device) {
  run.arena_bytes = run.program->run_segment_bytes + run.program->step_segment_bytes;
  for (const compile::Body& body : run.program->bodies)
    if (body.name == "begin" || body.name == "update") run.arena_bytes = std::max(run.arena_bytes, body.peak_bytes);
  run.dynamic.compile = compile_options(config, run.threads);
  run.dynamic.page_bytes = device.granularity_bytes();
  run.block_bytes = device.round_up(
      widest_block_bytes(*run.model, run.dataset->info(), run.batch, *run.ops, *run.program, run.dynamic));
  run.dynamic.room_bytes = run.block_bytes;
}

// A full step: all micro-batches of a global batch, and what comes before and after them. Packed bodies are compiled
// when their shapes come.
std::optional<double> step_seconds(const PlannedRun& run) {
  if (run.batch.packed()) return std::nullopt;
  int64_t nanoseconds = 0;
  bool known = true;
  const auto add = [&](const std::string& name) {
    const compile::Body* body = run.program->find_body(name);
    if (body == nullptr) return;
    known = known && body->cost_nanoseconds.has_value();
    nanoseconds += body->cost_nanoseconds.value_or(0);
  };
  for (const int64_t samples : run.batch.micro_batches(std::min(run.batch.global_batch, run.batch.train_samples)))
    add(body_name(run.batch.accumulates() ? "micro_batch" : "step", samples));
  for (const char* name : {"begin", "update"}) add(name);
  if (!known) return std::nullopt;
  return static_cast<double>(nanoseconds) * 1e-9;
}

// The global batch in 2, 4, 8 .. parts of whole groups, down to one group; the last part may be smaller.
std::vector<int64_t> smaller_micro_batches(const BatchPlan& batch) {
  std::vector<int64_t> sizes;
  for (int64_t parts = 2;; parts *= 2) {
    const int64_t samples = (batch.global_batch + parts - 1) / parts;
    const int64_t size = (samples + batch.sum_batch - 1) / batch.sum_batch * batch.sum_batch;
    if (size < (sizes.empty() ? batch.global_batch : sizes.back())) sizes.push_back(size);
    if (size <= batch.sum_batch) return sizes;
  }
}

class BudgetCompiler {
 public:
  BudgetCompiler(PlannedRun& run, const config::Config& config, const DeviceMemory& device, const PlanOptions& options)
      : run_(run),
        config_(config),
        device_(device),
        options_(options),
        recomputes_(config.memory.recompute != "none" && !run.batch.packed()),
        chooses_(config.memory.micro_batch == 0 && !run.batch.packed()),
        whole_(config.memory.micro_batch == 0 ? run.batch.global_batch
                                              : std::min(config.memory.micro_batch, run.batch.global_batch)) {}

  void run() {
    run_.micro_batches.clear();
    look_at(whole_, first_cost_sum());
    if (may_be_smaller()) look_at_smaller();
    run_.batch.micro_batch = best_ ? best_micro_batch_ : whole_;
    if (!best_) throw *refusal_;
    static_cast<CompiledRun&>(run_) = std::move(*best_);
  }

 private:
  // Where something runs again, the step is predicted in any case: other micro-batches are held against it.
  compile::CostSum first_cost_sum() const {
    const bool is_asked = options_.predict_step != compile::CostSum::none;
    return is_asked || !recomputes_ || !chooses_ ? options_.predict_step : compile::CostSum::known;
  }

  // Every measured cost is asked for again where that is wanted, also of what is not needed today.
  bool may_be_smaller() const {
    if (!chooses_ || (is_settled_ && !options_.measure_again)) return false;
    return graphs_for_batch().sums_in_groups;
  }

  // Why this micro-batch may give other bits than the whole batch, whose kernels these are; empty if it does not. An
  // odd last batch on another kernel makes it doubtful who runs on which.
  std::string other_bits(const NodeKernels& kernels) const {
    TrainingGraphs graphs = graphs_for_batch();
    if (!graphs.sums_in_groups) return "sums of " + graphs.in_the_way + " are not made in groups";
    for (const auto& [node, kernel] : plain_kernels(std::move(graphs))) {
      const auto of_whole = kernels.find(node);
      if (of_whole != kernels.end() && (kernel.size() > 1 || of_whole->second != kernel))
        return "other kernels at '" + node + "'";
    }
    return "";
  }

  void look_at_smaller() {
    run_.batch.micro_batch = whole_;
    const NodeKernels kernels = plain_kernels(graphs_for_batch());
    const compile::CostSum cost_sum = recomputes_ ? compile::CostSum::measured : options_.predict_step;
    for (const int64_t micro_batch : smaller_micro_batches(run_.batch)) {
      run_.batch.micro_batch = micro_batch;
      if (const std::string why_not = other_bits(kernels); !why_not.empty()) {
        run_.micro_batches.push_back({.micro_batch = micro_batch, .why_not = why_not});
        continue;
      }
      look_at(micro_batch, cost_sum);
      if (is_settled_ && !options_.measure_again) return;
    }
  }

  void look_at(int64_t micro_batch, compile::CostSum cost_sum) {
    run_.batch.micro_batch = micro_batch;
    MicroBatchOption option{.micro_batch = micro_batch, .why_not = "does not fit"};
    try {
      compile(cost_sum);
      option.fits = run_.planned_peak_bytes <= run_.budget_bytes;
    } catch (const compile::BudgetRefusal& refusal) {
      if (!refusal_ || refusal.least_budget_bytes() < refusal_->least_budget_bytes()) refusal_ = refusal;
      run_.micro_batches.push_back(option);
      return;
    }
    if (option.fits) {
      option.why_not.clear();
      option.planned_peak_bytes = run_.planned_peak_bytes;
      option.recompute_overhead = run_.recompute_overhead;
      option.recompute_overhead_lower_bound = run_.recompute_overhead_lower_bound;
      option.predicted_step_seconds = run_.predicted_step_seconds;
    }
    run_.micro_batches.push_back(option);
    const bool is_taken = !is_settled_ && is_better();
    is_settled_ = is_settled_ || (option.fits && run_.recompute_overhead == 0);
    if (!is_taken) return;
    best_ = std::move(static_cast<CompiledRun&>(run_));
    best_micro_batch_ = micro_batch;
  }

  // Than the best so far, which is of a larger micro-batch.
  bool is_better() const {
    if (!best_) return true;
    const bool fits = run_.planned_peak_bytes <= run_.budget_bytes;
    const bool best_fits = best_->planned_peak_bytes <= run_.budget_bytes;
    if (!fits || !best_fits) return fits || (!best_fits && run_.planned_peak_bytes < best_->planned_peak_bytes);
    return run_.predicted_step_seconds && best_->predicted_step_seconds &&
           *run_.predicted_step_seconds < *best_->predicted_step_seconds;
  }

  // For run_.batch. Throws compile::BudgetRefusal.
  void compile(compile::CostSum cost_sum) {
    TrainingGraphs graphs = graphs_for_batch();
    if (run_.batch.norm_batch == 0 && !graphs.in_the_way.empty())  // batch norm sets groups unasked
      throw Error(ErrorCode::config, "memory.sum_batch: sums of " + graphs.in_the_way +
                                         " cannot be made in groups of samples; set it to 0");
    run_.initializers = std::move(graphs.initializers);
    run_.program = compile_bodies(std::move(graphs.bodies), cost_sum, recomputes_);
    choose_peak_body(*run_.program, run_.batch, device_.granularity_bytes());
    note_recomputation(run_);
    run_.arena_bytes = run_.program->arena_bytes;
    if (run_.batch.packed()) plan_packed(run_, config_, device_);
    run_.planned_peak_bytes = device_.round_up(run_.arena_bytes) + run_.block_bytes;
    run_.predicted_step_seconds = step_seconds(run_);
  }

  // Whatever the budget.
  NodeKernels plain_kernels(TrainingGraphs graphs) const {
    return node_kernels(*compile_bodies(std::move(graphs.bodies), compile::CostSum::none, false));
  }

  TrainingGraphs graphs_for_batch() const {
    return build_training_graphs(*config_.model, run_.dataset->info(), *run_.optimizer, run_.batch, run_.ops->table());
  }

  std::unique_ptr<compile::Program> compile_bodies(std::vector<compile::BodySpec> bodies, compile::CostSum cost_sum,
                                                   bool recomputes) const {
    compile::CompileOptions options = compile_options(config_, run_.threads);
    options.arena_budget_bytes = arena_budget(run_.budget_bytes, device_);
    if (!recomputes) options.recompute = "none";  // packed micro-batches run in blocks: see DynamicOptions
    options.budget_granularity_bytes = device_.granularity_bytes();
    options.costs = &run_.cost_source->costs();
    options.prepares_all_costs = options_.measure_again;
    if (!run_.batch.packed()) options.cost_sum = cost_sum;
    try {
      auto program = std::make_unique<compile::Program>(compile::compile(std::move(bodies), *run_.ops, options));
      run_.cost_source->keep();
      return program;
    } catch (const compile::BudgetRefusal&) {
      run_.cost_source->keep();  // the next budget is asked with the same figures
      throw;
    }
  }

  PlannedRun& run_;
  const config::Config& config_;
  const DeviceMemory& device_;
  const PlanOptions& options_;
  const bool recomputes_, chooses_;
  const int64_t whole_;      // micro-batch: the given one, or the global batch
  bool is_settled_ = false;  // one that was looked at fits and runs nothing again: no smaller one is taken
  std::optional<CompiledRun> best_;
  int64_t best_micro_batch_ = 0;
  std::optional<compile::BudgetRefusal> refusal_;  // the one with the least budget
};

}  // namespace

void compile_for_budget(PlannedRun& run, const config::Config& config, const DeviceMemory& device,
                        const PlanOptions& options) {
  BudgetCompiler(run, config, device, options).run();
}

}  // namespace tidemark::train
