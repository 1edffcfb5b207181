// Cases 8, 9 and 12: what the plan knows before the first step.
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/integration/program.h"
#include "tests/integration/tiny_data.h"
#include "tests/integration/tiny_run.h"

namespace tidemark::tests {
namespace {

std::string budget(int64_t bytes) { return "memory.budget=" + std::to_string(bytes); }

std::string refusal(const TinyRun& tiny) {
  try {
    train::check_budget(tiny.planned(), tiny.budget());
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    return error.what();
  }
}

// Case 8: optimizer state appears at the first step and runs out there.
TEST(Case08, OptimizerStateThatDoesNotFitIsRefusedBeforeStepOne) {
  const std::string config = write_tiny_config(test_folder(), "mlp");
  const TinyRun plain(config, {"train.optimizer=sgd", "train.momentum=0"});
  const TinyRun adamw(config);
  int64_t weight_bytes = 0, optimizer_bytes = 0;
  for (const compile::Tensor& t : adamw.program().persistent) {
    if (t.category == Category::weights) weight_bytes += t.bytes();
    if (t.category == Category::optimizer) optimizer_bytes += t.bytes();
  }
  EXPECT_EQ(optimizer_bytes, 2 * weight_bytes);
  ASSERT_GT(adamw.planned().planned_peak_bytes, plain.planned().planned_peak_bytes);

  const int64_t state_bytes = adamw.program().run_segment_bytes;
  for (const int64_t limit : {state_bytes - 1, plain.planned().planned_peak_bytes}) {
    TinyRun tiny(config, {budget(limit)});
    const std::string text = refusal(tiny);
    EXPECT_NE(text.find("arena for 'mlp/"), std::string::npos) << text;
    EXPECT_NE(text.find("memory.budget"), std::string::npos) << text;
    EXPECT_EQ(tiny.device().alloc_calls(), 0);
  }
  EXPECT_EQ(
      refusal(TinyRun(config, {"train.optimizer=sgd", "train.momentum=0", budget(plain.planned().planned_peak_bytes)})),
      "")
      << "what fits without the state is accepted without it";
}

// Case 9: the last, smaller batch runs out.
TEST(Case09, AnySmallerLastBatchFitsTheSameArena) {
  const std::string folder = test_folder();
  for (const char* model : {"mlp", "resnet"}) {
    const std::string config = write_tiny_config(folder, model);
    const int64_t even = TinyRun(config, {"data.train_samples=64"}).program().arena_bytes;
    for (const char* samples : {"80", "65", "63", "40"}) {
      const std::string smaller = std::string("data.train_samples=") + samples;
      EXPECT_EQ(TinyRun(config, {smaller}).program().arena_bytes, even) << model << ", " << samples;
    }
    TinyRun tiny(config, {"data.train_samples=65", budget(TinyRun(config).planned().planned_peak_bytes)});
    EXPECT_EQ(refusal(tiny), "");
    tiny.start();
    const train::RunReport report = tiny.train();
    EXPECT_EQ(report.steps, 6) << "two epochs, each ending with a batch of one sample";
    EXPECT_EQ(report.samples, 2 * 65);
    EXPECT_EQ(report.measured_peak_bytes, tiny.planned().planned_peak_bytes);
  }
}

// Case 12: "nothing fits" falls back to a default; errors that are not about memory are taken for it.
TEST(Case12, IfOneSampleDoesNotFitTheErrorHasBothNumbers) {
  const std::string folder = test_folder();
  const std::string config = write_tiny_config(folder, "mlp");
  const std::vector<std::string> least = {"memory.micro_batch=1"};
  const int64_t needed = TinyRun(config, least).planned().planned_peak_bytes;
  const Finished finished =
      run_program(folder, {"train", "--json", "-c", config, "--set", least[0], "--set", budget(needed - 1)});
  EXPECT_EQ(finished.exit_code, 3);
  EXPECT_EQ(finished.out, "") << "nothing was trained with some other size";
  EXPECT_NE(finished.err.find(std::to_string(needed)), std::string::npos) << finished.err;
  EXPECT_NE(finished.err.find(std::to_string(needed - 1)), std::string::npos) << finished.err;
}

TEST(Case12, ErrorsThatAreNotAboutMemoryAreNeverTakenForIt) {
  const std::string folder = test_folder();
  const std::string config = write_tiny_config(folder, "mlp");
  const std::string tight = budget(3 << 20);
  EXPECT_EQ(run_program(folder, {"train", "-c", config, "--set", tight}).exit_code, 3);
  EXPECT_EQ(run_program(folder, {"train", "-c", config, "--set", tight, "--set", "train.lr=-1"}).exit_code, 2);
  write_file(folder + "/images/train-labels-idx1-ubyte", "no labels");
  EXPECT_EQ(run_program(folder, {"train", "-c", config, "--set", tight}).exit_code, 4);
}

}  // namespace
}  // namespace tidemark::tests
