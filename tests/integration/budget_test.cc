// Promise 2: what cannot fit is refused before step 1, with both numbers, the tensor at the peak and the setting to
// change.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "tests/integration/program.h"
#include "tests/integration/tiny_data.h"
#include "tests/integration/tiny_run.h"

namespace tidemark::tests {
namespace {

class BudgetOfARun : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    folder_ = test_folder();
    config_ = write_tiny_config(folder_, GetParam());
    peak_bytes_ = TinyRun(config_).planned().planned_peak_bytes;
  }

  static std::string budget(int64_t bytes) { return "memory.budget=" + std::to_string(bytes); }

  std::string folder_, config_;
  int64_t peak_bytes_ = 0;
};

TEST_P(BudgetOfARun, OneByteBelowThePeakIsRefusedBeforeAnyPageIsTaken) {
  TinyRun tiny(config_, {budget(peak_bytes_ - 1)});
  const std::string largest = tiny.program().tensors_at_peak(1).at(0).name;
  try {
    train::check_budget(tiny.planned(), tiny.budget());
    FAIL() << "accepted";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_NE(text.find(std::to_string(peak_bytes_)), std::string::npos) << text;
    EXPECT_NE(text.find(std::to_string(peak_bytes_ - 1)), std::string::npos) << text;
    EXPECT_NE(text.find(largest), std::string::npos) << text;
    EXPECT_NE(text.find("memory.micro_batch"), std::string::npos) << text;
    EXPECT_NE(text.find("memory.budget"), std::string::npos) << text;
  }
  EXPECT_EQ(tiny.device().alloc_calls(), 0);
  EXPECT_EQ(tiny.device().peak_committed_bytes(), 0);
}

TEST_P(BudgetOfARun, TheDeviceItselfRefusesToCrossIt) {
  TinyRun tiny(config_, {budget(peak_bytes_ - 1)});
  EXPECT_THROW(tiny.allocate(), Error) << "the check before the run is not the only guard";
  EXPECT_LT(tiny.device().peak_committed_bytes(), peak_bytes_);
}

TEST_P(BudgetOfARun, ThePeakItselfTrains) {
  TinyRun tiny(config_, {budget(peak_bytes_)});
  EXPECT_NO_THROW(train::check_budget(tiny.planned(), tiny.budget()));
  tiny.start();
  const train::RunReport report = tiny.train();
  EXPECT_EQ(report.steps, 6);
  EXPECT_EQ(report.measured_peak_bytes, peak_bytes_);
}

// The plan, and with it kernels and bits, never hangs on how much more there would be.
TEST_P(BudgetOfARun, MoreOfItChangesNothing) {
  const std::vector<std::string> least = {budget(peak_bytes_)}, more = {budget(8 * peak_bytes_)};
  EXPECT_EQ(TinyRun(config_, least).planned().plan_digest, TinyRun(config_, more).planned().plan_digest);
  const TinyResult a = train_tiny(config_, least), b = train_tiny(config_, more);
  EXPECT_EQ(a.losses, b.losses);
  EXPECT_EQ(a.parameters_sha256, b.parameters_sha256);
}

TEST_P(BudgetOfARun, TheProgramEndsWithThreeAndTrainsNothing) {
  for (const char* command : {"train", "plan"}) {
    const Finished refused = run_program(folder_, {command, "-c", config_, "--set", budget(peak_bytes_ - 1), "--set",
                                                   "checkpoint.dir=" + folder_ + "/run"});
    EXPECT_EQ(refused.exit_code, 3) << command;
    EXPECT_NE(refused.err.find(std::to_string(peak_bytes_)), std::string::npos) << refused.err;
    EXPECT_EQ(refused.out.find("step 1/"), std::string::npos) << refused.out;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/run")) << "a refused run leaves nothing behind";

  const Finished accepted = run_program(folder_, {"train", "--json", "-c", config_, "--set", budget(peak_bytes_)});
  ASSERT_EQ(accepted.exit_code, 0) << accepted.err;
  EXPECT_EQ(accepted.json()["measured_peak_bytes"], peak_bytes_);
  EXPECT_EQ(accepted.json()["budget_bytes"], peak_bytes_);
}

INSTANTIATE_TEST_SUITE_P(Models, BudgetOfARun, ::testing::Values("mlp", "resnet", "gpt"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tidemark::tests
