// A training run in this process, put together as `tidemark train` does it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/device_memory.h"
#include "framework/config/load.h"
#include "framework/train/run_checkpoints.h"
#include "framework/train/training_run.h"
#include "memory/budget/budget.h"
#include "ops/op_definition.h"

namespace tidemark::tests {

// All that a configuration may choose from.
config::Lists all_lists();

// Plans; start() takes the memory. Throws what the parts throw.
class TinyRun {
 public:
  // `overrides` as after --set.
  explicit TinyRun(const std::string& config_file, const std::vector<std::string>& overrides = {});

  // Takes the arena; called by start() if it was not before. `decorate`: see TrainingRun.
  void allocate(const train::TrainingRun::Decorate& decorate = {});
  // Writes first values, or those of the newest checkpoint if `resume`. With checkpoint.dir set, saves the first
  // checkpoint.
  void start(bool resume = false);
  // Trains to the end, saves as configured. `options.at_step_boundary` is called after the checkpoint of a step.
  train::RunReport train(train::RunOptions options = {});

  const train::PlannedRun& planned() const { return planned_; }
  const compile::Program& program() const { return *planned_.program; }
  train::TrainingRun& run() { return *run_; }
  train::Trainer& trainer() { return run_->trainer(); }
  train::RunCheckpoints& checkpoints() { return *checkpoints_; }
  DeviceMemory& device() { return *device_; }
  const memory::Budget& budget() const { return budget_; }
  std::string parameters_sha256() { return trainer().parameters_sha256(); }

 private:
  config::LoadedConfig config_;
  std::unique_ptr<DeviceMemory> device_;
  ops::OpSet ops_;
  memory::Budget budget_;
  train::PlannedRun planned_;
  std::unique_ptr<train::TrainingRun> run_;
  std::unique_ptr<train::RunCheckpoints> checkpoints_;
};

// What a run gives that is started and trained to its end.
struct TinyResult {
  std::vector<double> losses;
  std::string parameters_sha256;
  train::RunReport report;
};
TinyResult train_tiny(const std::string& config_file, const std::vector<std::string>& overrides = {});

}  // namespace tidemark::tests
