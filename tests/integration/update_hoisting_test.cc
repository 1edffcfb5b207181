// An update that runs as soon as its gradient is complete lets the gradient die early: a lower peak, and the same bits.
#include <gtest/gtest.h>

#include "device/device.h"
#include "framework/compile/compile.h"
#include "framework/train/training_program.h"
#include "memory/arena/arena.h"
#include "ops/all_ops.h"
#include "tests/integration/tiny_data.h"
#include "tests/integration/tiny_run.h"

namespace tidemark::tests {
namespace {

struct Outcome {
  int64_t arena_bytes = 0;
  int64_t gradient_bytes_at_peak = 0;
  std::vector<double> losses;
  std::string parameters_sha256;
};

Outcome train_with(const std::string& config_file, const std::vector<std::string>& overrides, bool updates_at_end) {
  const config::LoadedConfig loaded = config::load_config(config_file, overrides, all_lists());
  const TinyRun tiny(config_file, overrides);
  const train::PlannedRun& planned = tiny.planned();
  const ops::OpSet ops = ops::all_ops();
  train::TrainingGraphs graphs = train::build_training_graphs(*loaded.config.model, planned.dataset->info(),
                                                              *planned.optimizer, planned.batch, ops.table());
  compile::CompileOptions options;
  options.updates_at_end = updates_at_end;
  const compile::Program program = compile::compile(std::move(graphs.bodies), ops, options);

  const auto device = make_device_memory(choose_device("cpu"));
  const memory::Arena arena(*device, program.arena_bytes, {.growth = false});
  runtime::Executor executor(program, arena.data());
  train::Trainer trainer(executor, planned.dataset->info(), *planned.optimizer, planned.schedule, planned.batch);
  trainer.initialise(planned.initializers);
  data::Loader loader(*planned.dataset, {.global_batch = planned.batch.global_batch, .seed = planned.batch.seed});
  Outcome outcome{program.arena_bytes, program.peak_categories[static_cast<size_t>(Category::gradients)], {}, ""};
  for (int step = 0; step < 5; ++step) outcome.losses.push_back(trainer.step(loader.next()).loss);
  outcome.parameters_sha256 = trainer.parameters_sha256();
  return outcome;
}

TEST(UpdateHoisting, LowersThePeakOfAGptAndChangesNoBit) {
  // Few tokens and wide layers: the gradients are what the peak is made of.
  const std::vector<std::string> overrides = {"model.width=96", "model.context=16", "train.global_batch=2",
                                              "train.eval_samples=2"};
  const std::string config = write_tiny_config(test_folder(), "gpt");
  const Outcome soon = train_with(config, overrides, false), late = train_with(config, overrides, true);
  EXPECT_LT(soon.arena_bytes, late.arena_bytes);
  EXPECT_LT(soon.gradient_bytes_at_peak, late.gradient_bytes_at_peak);
  // At the end all gradients stand together, one for every parameter byte; that much more than the largest is saved.
  EXPECT_GT(late.arena_bytes - soon.arena_bytes, late.gradient_bytes_at_peak / 4);
  EXPECT_EQ(soon.losses, late.losses);
  EXPECT_EQ(soon.parameters_sha256, late.parameters_sha256);
}

}  // namespace
}  // namespace tidemark::tests
