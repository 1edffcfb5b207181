// Case 3: a later epoch brings a longer batch, and memory rises in jumps.
#include <gtest/gtest.h>

#include "tests/integration/program.h"
#include "tests/integration/tiny_data.h"
#include "tests/integration/tiny_run.h"

namespace tidemark::tests {
namespace {

// All short but a few, so that the long ones meet in one batch at some time, late.
std::string mostly_short_lines() {
  std::string text;
  for (int i = 0; i < 400; ++i)
    text += std::string(static_cast<size_t>(i % 40 == 0 ? 600 : 1 + i % 3), static_cast<char>('a' + i % 26)) + "\n";
  return text;
}

TEST(Case03, BoundIsKnownBeforeTheFirstEpochAndNothingGrowsAfterIt) {
  const std::string folder = test_folder();
  const std::string config = write_tiny_config(folder, "lstm");
  write_file(folder + "/lines.txt", mostly_short_lines());
  const std::vector<std::string> overrides = {"data.max_length=1000", "train.global_batch=8", "train.epochs=4",
                                              "train.steps=0", "train.eval_every=20"};
  TinyRun tiny(config, overrides);
  const int64_t bound = tiny.planned().planned_peak_bytes;
  tiny.start();
  int64_t rows = 0, least_rows = 1 << 30, committed = 0;
  const train::RunReport report = tiny.train({.after_step = [&](const auto&, double, const data::HostBatch& batch) {
    rows = std::max(rows, batch.rows);
    least_rows = std::min(least_rows, batch.rows);
    if (committed == 0) committed = tiny.device().committed_bytes();
    EXPECT_EQ(tiny.device().committed_bytes(), committed) << "after the first step nothing grows";
  }});
  EXPECT_EQ(report.steps, 4 * ((360 + 7) / 8));
  EXPECT_GT(rows, 20 * least_rows) << "batches differ";
  EXPECT_LE(rows, tiny.planned().batch.train_rows);
  EXPECT_EQ(committed, bound);
  EXPECT_EQ(report.measured_peak_bytes, bound);
  EXPECT_EQ(report.alloc_calls_after_warmup, 0);
}

TEST(Case03, PlanAndTrainPrintTheSameBound) {
  const std::string folder = test_folder();
  const std::string config = write_tiny_config(folder, "lstm");
  const auto plan = run_program(folder, {"plan", "-c", config, "--json"}).json();
  const auto trained = run_program(folder, {"train", "-c", config, "--json"}).json();
  EXPECT_EQ(plan["planned_peak_bytes"], trained["planned_peak_bytes"]);
  EXPECT_EQ(trained["measured_peak_bytes"], trained["planned_peak_bytes"]);
  EXPECT_EQ(trained["device_alloc_calls_after_warmup"], 0);
}

}  // namespace
}  // namespace tidemark::tests
