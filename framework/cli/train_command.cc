#include <unistd.h>

#include <chrono>
#include <cmath>
#include <iostream>

#include "base/log.h"
#include "framework/cli/allocator_records.h"
#include "framework/cli/budget_watch.h"
#include "framework/cli/commands.h"
#include "framework/cli/lists.h"
#include "framework/cli/metrics_server.h"
#include "framework/cli/options.h"
#include "framework/cli/plan_interruptibly.h"
#include "framework/cli/plan_report.h"
#include "framework/cli/run_device.h"
#include "framework/cli/stop_request.h"
#include "framework/cli/train_report.h"
#include "framework/config/print.h"
#include "framework/train/run_checkpoints.h"
#include "framework/train/run_metrics.h"
#include "memory/allocator/decorators/allocator_decorator.h"
#include "memory/budget/idle_release_allocator.h"
#include "ops/all_ops.h"

namespace tidemark::cli {
namespace {

struct TrainOptions {
  ConfigOptions config;
  bool resume = false;
  bool restart = false;
  RecordOptions records;
};

int parse(TrainOptions& options, int argc, char** argv) {
  CLI::App app("Trains the model of a configuration", "tidemark train");
  add_config_options(app, options.config);
  auto* resume = app.add_flag("--resume", options.resume,
                              "Go on from the newest checkpoint, as if never stopped; from the start if there is none");
  app.add_flag("--restart", options.restart, "Remove the checkpoints of an earlier run first")->excludes(resume);
  add_record_options(app, options.records);
  return parse_command_line(app, argc, argv);
}

// An allocator whose calls are written down if that is wanted, and that gives its cache back when it sleeps: `idle` is
// then set to it.
train::TrainingRun::Decorate decorate(AllocatorRecords& records, double idle_seconds,
                                      memory::IdleReleaseAllocator*& idle) {
  return [&records, idle_seconds, &idle](memory::Allocator& below) -> std::unique_ptr<memory::Allocator> {
    memory::Allocator& around = records.around(below);
    if (idle_seconds <= 0) return std::make_unique<memory::AllocatorDecorator>(around);
    const auto pause = std::chrono::milliseconds(std::max<int64_t>(1, std::llround(idle_seconds * 1000)));
    auto allocator = std::make_unique<memory::IdleReleaseAllocator>(around, pause);
    idle = allocator.get();
    return allocator;
  };
}

// Everything between a plan that fits and the report.
class TrainCommand {
 public:
  TrainCommand(const TrainOptions& options, const config::LoadedConfig& config, const train::PlannedRun& planned,
               RunDevice& device)
      : options_(options),
        config_(config.config),
        planned_(planned),
        records_(options.records, config_.memory.debug),
        run_(planned, *device.memory, config_.memory.growth, config_.memory.debug,
             decorate(records_, config_.memory.idle_release, idle_), records_.allocator_options()),
        checkpoints_({config_.checkpoint.dir, config_.checkpoint.every, config_.checkpoint.keep},
                     config::to_yaml(config_), device.choice.name, planned, run_),
        counters_({{"device", device.choice.name}, {"rank", "0"}}),
        metrics_(counters_, planned, *device.memory,
                 make_watermark(config_.memory, planned.budget_bytes, planned.planned_peak_bytes)),
        progress_(options.config.json ? std::cerr : std::cout, isatty(output()) != 0, config_.train.log_every,
                  train::terminal_columns(output())) {}

  int execute() {
    // First: a port in use must leave no checkpoint behind.
    const auto exporter = serve_metrics(counters_, config_.metrics.listen, [this] { metrics_.refresh(run_); });
    start();
    const train::RunReport report = run_.run(run_options());
    checkpoints_.save_now();
    if (run_.allocator() != nullptr) records_.write(*run_.allocator());
    const std::string sha256 = run_.trainer().parameters_sha256();
    if (options_.config.json) {
      std::cout << train_json(planned_, report, sha256).dump(2) << std::endl;
    } else {
      print_train(planned_, report, std::cout);
      std::cout << "parameters sha256 " << sha256 << std::endl;
    }
    return 0;
  }

 private:
  // Descriptor of what the progress goes to.
  int output() const { return options_.config.json ? STDERR_FILENO : STDOUT_FILENO; }

  // First values or a checkpoint's, and a checkpoint of where the run begins.
  void start() {
    checkpoints_.lock_folder();
    if (options_.restart) checkpoints_.remove_earlier();
    if (!options_.resume) checkpoints_.refuse_used_folder();
    if (!options_.resume || !checkpoints_.resume()) run_.trainer().initialise(planned_.initializers);
    checkpoints_.save_if_due();
  }

  train::RunOptions run_options() {
    train::RunOptions options;
    options.eval_every = config_.train.eval_every;
    options.early_stop = config_.train.early_stop;
    options.progress = &progress_;
    options.stop = &stop_requested();
    options.after_step = [this](const train::StepResult& result, double seconds, const data::HostBatch& batch) {
      metrics_.count_step(seconds, batch.samples, batch.targets, result.loss,
                          planned_.schedule.at(run_.trainer().steps_done() - 1));
    };
    if (idle_ != nullptr) options.works = [this](bool works) { works ? idle_->begin_work() : idle_->end_work(); };
    options.at_step_boundary = [this] { checkpoints_.save_if_due(); };
    return options;
  }

  const TrainOptions& options_;
  const config::Config& config_;
  const train::PlannedRun& planned_;
  AllocatorRecords records_;
  memory::IdleReleaseAllocator* idle_ = nullptr;  // of the run
  train::TrainingRun run_;
  train::RunCheckpoints checkpoints_;
  Counters counters_;
  train::RunMetrics metrics_;
  train::Progress progress_;
};

}  // namespace

int run_train(int argc, char** argv) {
  TrainOptions options;
  if (const int code = parse(options, argc, argv); code >= 0) return code;
  const config::LoadedConfig config = config::load_config(options.config.file, options.config.overrides, all_lists());
  refuse_taken_address(config.config.metrics.listen);
  RunDevice device = open_device(config);
  const ops::OpSet ops = ops::all_ops();
  const memory::Budget budget = train::make_budget(config, *device.memory);
  const train::PlannedRun planned = plan_interruptibly(config, ops, *device.memory, budget, "tidemark train");
  log(LogLevel::info, "planned",
      {{"model", planned.program->name},
       {"peak_bytes", planned.planned_peak_bytes},
       {"budget_bytes", planned.budget_bytes},
       {"micro_batch", planned.batch.micro_batch},
       {"recomputed_instructions", recomputed_instructions(planned)},
       {"recompute_overhead", planned.recompute_overhead},
       {"recompute_overhead_lower_bound", planned.recompute_overhead_lower_bound},
       {"digest", planned.plan_digest}});
  train::check_budget(planned, budget);
  refuse_records_without_allocator(options.records, planned.batch.packed());
  take_stop_signals();
  return TrainCommand(options, config, planned, device).execute();
}

}  // namespace tidemark::cli
