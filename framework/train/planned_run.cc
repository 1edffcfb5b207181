#include "framework/train/planned_run.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/bytes.h"
#include "base/error.h"
#include "base/log.h"
#include "framework/data/batch_reader.h"
#include "framework/train/budget_compiler.h"
#include "framework/train/plan_digest.h"

namespace tidemark::train {
namespace {

// A full evaluation ends with a smaller batch; a partial one takes whole batches, so that it needs no body of its own.
int64_t eval_samples(int64_t available, int64_t wanted, int64_t batch) {
  if (wanted == 0 || wanted >= available) return available;
  return std::min(available, std::max(batch, wanted / batch * batch));
}

BatchPlan batch_plan(const config::Config& config, const data::Dataset& dataset) {
  BatchPlan plan;
  plan.global_batch = config.train.global_batch;
  const int64_t micro_batch = config.memory.micro_batch;
  plan.micro_batch = micro_batch == 0 ? plan.global_batch : std::min(micro_batch, plan.global_batch);
  // Where no micro-batch changes a bit, none changes what an evaluation weighs.
  plan.eval_batch = config.memory.sum_batch > 0 ? plan.global_batch : plan.micro_batch;
  plan.train_samples = dataset.size(data::Split::train);
  plan.eval_samples = eval_samples(dataset.size(data::Split::eval), config.train.eval_samples, plan.eval_batch);
  plan.norm_batch = config.memory.norm_batch;
  plan.sum_batch = config.memory.sum_batch;
  plan.clip_norm = config.train.clip_norm;
  plan.seed = static_cast<uint64_t>(config.train.seed);
  plan.train_rows = data::most_rows(dataset, data::Split::train, plan.micro_batch);
  plan.eval_rows = data::most_rows(dataset, data::Split::eval, plan.micro_batch);
  return plan;
}

optim::OptimizerOptions optimizer_options(const config::TrainSection& train) {
  return {.momentum = train.momentum,
          .nesterov = train.nesterov,
          .beta1 = train.beta1,
          .beta2 = train.beta2,
          .eps = train.eps,
          .weight_decay = train.weight_decay};
}

int cores() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

void fill_lengths(PlannedRun& run, const config::TrainSection& train) {
  const int64_t samples = run.batch.train_samples;
  run.steps_per_epoch = (samples + run.batch.global_batch - 1) / run.batch.global_batch;
  run.total_steps = train.steps > 0 ? train.steps : train.epochs * run.steps_per_epoch;
  run.schedule = {.kind = train.schedule,
                  .lr = train.lr,
                  .min_lr = train.min_lr,
                  .warmup_steps = train.warmup_steps,
                  .total_steps = run.total_steps};
  run.targets_per_sample = run.dataset->targets(data::Split::train, 0);
  if (run.batch.packed())
    run.targets_per_sample = std::max<int64_t>(run.targets_per_sample, 2);  // the first may be short
}

std::shared_ptr<CostSource> make_cost_source(const config::Config& config, int threads, const ops::OpSet& ops,
                                             const PlanOptions& options) {
  if (options.costs) return options.costs;
  if (options.estimate) return estimated_costs(ops.table(), threads);
  return measured_costs(
      config.memory.cost_file, threads,
      {.on_measuring = options.on_measuring, .stop_if = options.stop_measuring, .again = options.measure_again});
}

// Row numbers are time step x 2^20 + sample (ops/lstm, packed_row_ids): beyond it dropout masks would repeat.
constexpr int64_t kMostPackedSamples = int64_t{1} << 20;

// What watches or rewrites the bodies of one arena has no meaning for bodies in blocks of an allocator.
std::vector<std::string> packed_problems(const config::Config& config) {
  const std::string why =
      "; data.kind " + std::string(config.data->kind()) + " is packed, its bodies lie in blocks of an allocator";
  std::vector<std::string> problems;
  if (const std::string& planner = config.memory.recompute; planner != "auto" && planner != "none")
    problems.push_back("memory.recompute " + planner + " rewrites bodies of one planned arena" + why);
  if (config.memory.sum_batch > 0)
    problems.push_back("memory.sum_batch has no meaning for rows of samples that differ in length" + why);
  if (config.train.global_batch > kMostPackedSamples)
    problems.push_back("train.global_batch " + std::to_string(config.train.global_batch) + " is above " +
                       std::to_string(kMostPackedSamples) + ", up to which the rows of packed samples have numbers");
  return problems;
}

}  // namespace

PlannedRun prepare_run(const config::LoadedConfig& loaded) {
  const config::Config& config = loaded.config;
  PlannedRun run;
  run.dataset = config.data->open(config.model->context());
  loaded.refuse("model", config.model->problems(run.dataset->info()));
  if (run.dataset->info().packed) loaded.refuse("memory", packed_problems(config));
  run.batch = batch_plan(config, *run.dataset);
  run.threads = config.train.threads > 0 ? static_cast<int>(config.train.threads) : cores();
  run.optimizer = optim::make_optimizer(config.train.optimizer, optimizer_options(config.train));
  fill_lengths(run, config.train);
  return run;
}

void compile_run(PlannedRun& run, const config::LoadedConfig& loaded, const ops::OpSet& ops, const DeviceMemory& device,
                 int64_t budget_bytes, const PlanOptions& plan_options) {
  const auto begin = std::chrono::steady_clock::now();
  if (!run.cost_source) run.cost_source = make_cost_source(loaded.config, run.threads, ops, plan_options);
  run.model = loaded.config.model.get();
  run.ops = &ops;
  run.budget_bytes = budget_bytes;
  compile_for_budget(run, loaded.config, device, plan_options);
  run.plan_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  run.plan_digest = plan_digest(*run.program);
  run.costs = run.cost_source->note();
  const bool hangs_on_costs =
      run.recompute_overhead > 0 || (run.micro_batches.size() > 1 && loaded.config.memory.recompute != "none");
  run.cost_digest = hangs_on_costs ? run.costs.digest : "";
}

PlannedRun plan_run(const config::LoadedConfig& loaded, const ops::OpSet& ops, const DeviceMemory& device,
                    const memory::Budget& budget, const PlanOptions& options) {
  PlannedRun run = prepare_run(loaded);
  compile_run(run, loaded, ops, device, budget.limit_bytes(), options);
  return run;
}

memory::Budget make_budget(const config::LoadedConfig& loaded, DeviceMemory& device) {
  const config::MemorySection& memory = loaded.config.memory;
  const int64_t capacity = device.capacity_bytes();
  if (!memory.budget.empty()) {
    const ByteLimit limit = parse_byte_limit(memory.budget);
    if (const int64_t bytes = limit.resolve(capacity); bytes > capacity)
      log(LogLevel::warning, "budget_above_device", {{"budget_bytes", bytes}, {"device_bytes", capacity}});
    return {limit, device};
  }
  const int64_t headroom = memory.headroom.empty() ? 0 : parse_byte_limit(memory.headroom).resolve(capacity);
  if (capacity - headroom < device.granularity_bytes())
    throw Error(ErrorCode::config, "memory.headroom " + memory.headroom + " leaves no page of the device's " +
                                       format_bytes(capacity) + "; lower it or set memory.budget");
  return {ByteLimit{.bytes = capacity - headroom}, device};
}

void check_budget(const PlannedRun& run, const memory::Budget& budget) {
  const compile::Program& program = *run.program;
  memory::PlannedNeed need;
  need.name = program.name + "/" + program.bodies[program.peak_body].name;
  need.bytes = run.planned_peak_bytes;
  if (const auto largest = program.tensors_at_peak(1); !largest.empty()) {
    need.largest_tensor = largest[0].name;
    need.largest_tensor_bytes = largest[0].bytes;
  }
  const std::string smaller = "lower memory.micro_batch (now " + std::to_string(run.batch.micro_batch) + ")";
  need.remedy = smaller + " or raise memory.budget";
  need.device_remedy = "stop other programs or " + smaller;
  if (!run.batch.packed()) {  // whose bodies are never recomputed
    need.remedy = "set memory.recompute: auto, " + need.remedy;
    need.device_remedy += ", or set memory.budget to what the device can give, so that more is recomputed";
  }
  budget.check(need);
}

}  // namespace tidemark::train
