// Cases 10, 13 and 16: checkpoints cost no memory, and a resumed run sees the samples and the schedule that it would
// have seen.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "framework/train/run_books.h"
#include "tests/integration/program.h"
#include "tests/integration/resident.h"
#include "tests/integration/tiny_data.h"
#include "tests/integration/tiny_run.h"

namespace tidemark::tests {
namespace {

constexpr int64_t kMebibyte = 1 << 20;

// Case 10: resuming needs more memory than training did.
TEST(Case10, ResumingNeedsNoMoreThanTraining) {
  const std::string folder = test_folder();
  const std::string config = write_tiny_config(folder, "mlp");
  const auto train = [&](const std::string& steps, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"train", "--json",
                                          "-c",    config,
                                          "--set", "model.hidden=[1024,1024]",
                                          "--set", "checkpoint.dir=" + folder + "/run",
                                          "--set", "train.steps=" + steps};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(folder, arguments);
  };
  const Finished trained = train("3", {});
  const Finished resumed = train("6", {"--resume"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(resumed.json()["first_step"], 3);
  EXPECT_LE(resumed.json()["measured_peak_bytes"], trained.json()["measured_peak_bytes"]);
  EXPECT_EQ(resumed.json()["measured_peak_bytes"], resumed.json()["planned_peak_bytes"]);
  // Weights and moments are 22 MB: a copy of them on the way in would show.
  EXPECT_LE(resumed.peak_resident_bytes, trained.peak_resident_bytes + 2 * kMebibyte);
}

struct Seen {
  std::vector<data::SamplerPosition> batches;
  std::vector<double> learning_rates;
  std::vector<double> losses;
};

// Runs to the end, or stops after `stop_after` steps.
Seen run(TinyRun& tiny, bool resume, int64_t stop_after = 0) {
  Seen seen;
  std::atomic<bool> stop{false};
  train::RunOptions options;
  options.stop = &stop;
  options.after_step = [&](const train::StepResult& result, double, const data::HostBatch& batch) {
    seen.batches.push_back(batch.begin);
    seen.losses.push_back(result.loss);
    seen.learning_rates.push_back(tiny.planned().schedule.at(tiny.trainer().steps_done() - 1));
    stop = static_cast<int64_t>(seen.losses.size()) == stop_after;
  };
  tiny.start(resume);
  EXPECT_EQ(tiny.train(options).interrupted, stop_after > 0);
  return seen;
}

void append(Seen& to, const Seen& more) {
  to.batches.insert(to.batches.end(), more.batches.begin(), more.batches.end());
  to.learning_rates.insert(to.learning_rates.end(), more.learning_rates.begin(), more.learning_rates.end());
  to.losses.insert(to.losses.end(), more.losses.begin(), more.losses.end());
}

class Case13 : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    folder_ = test_folder();
    config_ = write_tiny_config(folder_, GetParam());
  }

  std::vector<std::string> overrides(const std::string& micro_batch) {
    return {"train.steps=16",       "train.schedule=cosine",
            "train.warmup_steps=4", "train.eval_every=16",
            "train.clip_norm=1e9",  "checkpoint.dir=" + folder_ + "/run",
            "checkpoint.every=5",   "memory.micro_batch=" + micro_batch};
  }

  // A run that is stopped after seven steps and goes on with another micro-batch.
  Seen stopped_and_resumed(const std::string& before, const std::string& after, std::string* sha256) {
    TinyRun first(config_, overrides(before));
    Seen seen = run(first, false, 7);
    TinyRun second(config_, overrides(after));
    append(seen, run(second, true));
    *sha256 = second.parameters_sha256();
    return seen;
  }

  Seen in_one_go(const std::string& micro_batch, std::string* sha256) {
    std::vector<std::string> without = overrides(micro_batch);
    without.push_back("checkpoint.dir=" + folder_ + "/in_one_go");
    TinyRun tiny(config_, without);
    const Seen seen = run(tiny, false);
    *sha256 = tiny.parameters_sha256();
    return seen;
  }

  std::string folder_, config_;
};

TEST_P(Case13, ResumedWithAnotherMicroBatchItSeesTheSameSamplesAndSchedule) {
  std::string whole_sha256, resumed_sha256;
  const Seen whole = in_one_go("32", &whole_sha256), resumed = stopped_and_resumed("32", "8", &resumed_sha256);
  ASSERT_EQ(whole.losses.size(), 16u);
  EXPECT_EQ(resumed.batches, whole.batches);
  EXPECT_EQ(resumed.learning_rates, whole.learning_rates);
  ASSERT_EQ(resumed.losses.size(), whole.losses.size()) << "neither longer nor shorter";
  for (size_t i = 0; i < whole.losses.size(); ++i)
    EXPECT_NEAR(resumed.losses[i], whole.losses[i], 1e-3 * whole.losses[i]) << i;
}

TEST_P(Case13, ResumedWithTheSameMicroBatchItHasTheSameBits) {
  for (const char* micro_batch : {"32", "8"}) {
    std::string whole_sha256, resumed_sha256;
    const Seen whole = in_one_go(micro_batch, &whole_sha256);
    const Seen resumed = stopped_and_resumed(micro_batch, micro_batch, &resumed_sha256);
    EXPECT_EQ(resumed.losses, whole.losses);
    EXPECT_EQ(resumed.batches, whole.batches);
    EXPECT_EQ(resumed_sha256, whole_sha256);
    std::filesystem::remove_all(folder_ + "/run");
    std::filesystem::remove_all(folder_ + "/in_one_go");
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Case13, ::testing::Values("mlp", "resnet", "gpt"),
                         [](const auto& info) { return std::string(info.param); });

// Case 16: saving a checkpoint raises memory each time.
TEST(Case16, FiftySavesLeaveTheFloorUnchanged) {
  const std::string folder = test_folder();
  TinyRun tiny(write_tiny_config(folder, "mlp"), {"train.steps=50", "train.eval_every=1000", "checkpoint.every=1",
                                                  "checkpoint.keep=2", "checkpoint.dir=" + folder + "/run"});
  tiny.start();
  const int64_t committed = tiny.device().committed_bytes(), calls = tiny.device().alloc_calls();
  int64_t after_first = 0, saves = 0;
  std::vector<memory::GrowthSample> floors;
  const train::RunReport report = tiny.train({.at_step_boundary = [&] {
    floors.push_back(growth_sample(read_figures(tiny.device(), read_books_between_steps(tiny.run()))));
    EXPECT_EQ(floors.back().allocated, floors.front().allocated);
    EXPECT_EQ(floors.back().unattributed_bytes, 0);
    if (++saves == 1) after_first = resident_bytes();
    EXPECT_EQ(tiny.device().committed_bytes(), committed);
  }});
  EXPECT_EQ(saves, 50);
  EXPECT_EQ(tiny.device().alloc_calls(), calls);
  EXPECT_EQ(report.measured_peak_bytes, tiny.planned().planned_peak_bytes);
  EXPECT_LT(resident_bytes() - after_first, kMebibyte);
  const memory::GrowthVerdict verdict = memory::judge_growth(floors);
  EXPECT_FALSE(verdict.growing) << describe(verdict);
  EXPECT_EQ(checkpoint::list_checkpoints(folder + "/run").size(), 2u);
}

}  // namespace
}  // namespace tidemark::tests
