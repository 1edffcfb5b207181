#include "tests/integration/tiny_run.h"

#include "device/device.h"
#include "framework/cli/lists.h"
#include "framework/config/print.h"
#include "ops/all_ops.h"

namespace tidemark::tests {

config::Lists all_lists() { return cli::all_lists(); }

TinyRun::TinyRun(const std::string& config_file, const std::vector<std::string>& overrides)
    : config_(config::load_config(config_file, overrides, all_lists())),
      device_(make_device_memory(choose_device(config_.config.top.device))),
      ops_(ops::all_ops()),
      budget_(train::make_budget(config_, *device_)),
      planned_(train::plan_run(config_, ops_, *device_, budget_)) {}

void TinyRun::allocate(const train::TrainingRun::Decorate& decorate) {
  const config::Config& config = config_.config;
  run_ = std::make_unique<train::TrainingRun>(planned_, *device_, config.memory.growth, config.memory.debug, decorate);
  checkpoints_ = std::make_unique<train::RunCheckpoints>(
      train::CheckpointOptions{config.checkpoint.dir, config.checkpoint.every, config.checkpoint.keep},
      config::to_yaml(config), "cpu", planned_, *run_);
}

void TinyRun::start(bool resume) {
  if (run_ == nullptr) allocate();
  if (!resume || !checkpoints_->resume()) trainer().initialise(planned_.initializers);
  checkpoints_->save_if_due();
}

train::RunReport TinyRun::train(train::RunOptions options) {
  options.eval_every = config_.config.train.eval_every;
  options.early_stop = config_.config.train.early_stop;
  options.at_step_boundary = [this, after = options.at_step_boundary] {
    checkpoints_->save_if_due();
    if (after) after();
  };
  train::RunReport report = run_->run(options);
  checkpoints_->save_now();
  return report;
}

TinyResult train_tiny(const std::string& config_file, const std::vector<std::string>& overrides) {
  TinyRun tiny(config_file, overrides);
  tiny.start();
  train::RunReport report = tiny.train();
  return {report.losses, tiny.parameters_sha256(), report};
}

}  // namespace tidemark::tests
