// Promise 3, stronger where sums are made in groups: no micro-batch changes a bit. That is why a budget may choose it.
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "framework/compile/compile.h"
#include "framework/train/plan_digest.h"
#include "framework/train/plan_frontier.h"
#include "ops/all_ops.h"
#include "tests/integration/differences.h"
#include "tests/integration/program.h"
#include "tests/integration/tiny_data.h"
#include "tests/integration/tiny_run.h"

namespace tidemark::tests {
namespace {

// Groups of 8, global batches of 32 with one of 16 at the end of an epoch of the images. The embedding of gpt is read
// by two nodes, and its gradients are clipped, with momentum of its own.
struct Net {
  const char* name;
  const char* model;
  std::vector<std::string> overrides;
};
const Net kNets[] = {
    {"mlp", "mlp", {"memory.sum_batch=8", "model.dropout=0.2", "train.steps=100"}},
    {"resnet", "resnet", {"model.blocks=[1, 1]", "train.momentum=0.9", "train.steps=100"}},
    {"gpt", "gpt", {"memory.sum_batch=8", "model.layers=3", "train.clip_norm=1", "train.steps=100"}},
    {"gpt_unclipped", "gpt", {"memory.sum_batch=8", "model.layers=3", "train.steps=100"}},
};

struct Outcome {
  std::vector<double> losses;
  std::string parameters_sha256;
  Tensors statistics;
  bool operator==(const Outcome&) const = default;
};

class MicroBatchChoice : public ::testing::TestWithParam<Net> {
 protected:
  void SetUp() override {
    folder_ = test_folder();
    config_ = write_tiny_config(folder_, GetParam().model);
  }

  std::vector<std::string> with(std::vector<std::string> more) const {
    std::vector<std::string> all = GetParam().overrides;
    all.insert(all.end(), {"memory.micro_batch=0", "memory.cost_file=" + folder_ + "/costs.json"});
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  static Outcome train(TinyRun& tiny, std::optional<train::EvalResult>* eval = nullptr) {
    tiny.start();
    const train::RunReport report = tiny.train();
    EXPECT_EQ(report.measured_peak_bytes, tiny.planned().planned_peak_bytes);
    if (eval != nullptr) *eval = report.eval;
    return {report.losses, tiny.parameters_sha256(), persistent(tiny, Category::statistics)};
  }

  std::string folder_, config_;
};

TEST_P(MicroBatchChoice, OneHundredStepsHaveTheSameBitsWithEveryMicroBatch) {
  for (const char* threads : {"train.threads=1", "train.threads=2"}) {
    TinyRun whole(config_, with({threads}));
    ASSERT_EQ(whole.planned().batch.micro_batch, 32);
    const Outcome want = train(whole);
    ASSERT_EQ(want.losses.size(), 100U);
    for (const char* samples : {"16", "8"}) {
      TinyRun smaller(config_, with({threads, std::string("memory.micro_batch=") + samples}));
      EXPECT_EQ(std::to_string(smaller.planned().batch.micro_batch), samples);
      EXPECT_EQ(train::kernel_digest(smaller.program()), train::kernel_digest(whole.program()));
      EXPECT_EQ(train(smaller), want) << samples << ' ' << threads;
    }
  }
}

// A group of another size is another sum; else the test above would say nothing.
TEST_P(MicroBatchChoice, OtherGroupsHaveOtherBits) {
  TinyRun eights(config_, with({}));
  const char* key = std::string(GetParam().model) == "resnet" ? "memory.norm_batch=16" : "memory.sum_batch=16";
  TinyRun sixteens(config_, with({key}));
  EXPECT_NE(train(eights).parameters_sha256, train(sixteens).parameters_sha256);
}

// Of nets whose activations fill pages.
class MicroBatchBudgets : public MicroBatchChoice {};

TEST_P(MicroBatchBudgets, TakeDifferentOnesWithTheSameBits) {
  const std::vector<std::string> larger = {
      "train.steps=12", std::string(GetParam().model) == "resnet" ? "model.width=24" : "model.width=64"};
  TinyRun plain(config_, with(larger));
  const int64_t page = plain.device().granularity_bytes(), most = plain.planned().planned_peak_bytes;
  std::optional<train::EvalResult> want_eval;
  const Outcome want = train(plain, &want_eval);

  std::set<int64_t> taken;
  double overhead = 0;
  int64_t budget = most;
  for (; budget > 0; budget -= page) {
    try {
      std::vector<std::string> within = larger;
      within.insert(within.end(), {"memory.recompute=auto", "memory.budget=" + std::to_string(budget)});
      TinyRun tight(config_, with(within));
      ASSERT_LE(tight.planned().planned_peak_bytes, budget);
      overhead = std::max(overhead, tight.planned().recompute_overhead);
      if (!taken.insert(tight.planned().batch.micro_batch).second && budget - page > 0) continue;
      std::optional<train::EvalResult> eval;
      EXPECT_EQ(train(tight, &eval), want) << "budget " << budget;
      ASSERT_TRUE(eval.has_value());
      EXPECT_EQ(eval->loss, want_eval->loss) << "budget " << budget;
      EXPECT_EQ(eval->accuracy, want_eval->accuracy) << "budget " << budget;
    } catch (const compile::BudgetRefusal& refusal) {
      EXPECT_EQ(refusal.least_budget_bytes(), budget + page) << "the budget before worked";
      break;
    }
  }
  EXPECT_GT(taken.size(), 1U) << "no budget takes another micro-batch";
  EXPECT_GT(overhead, 0) << "no budget runs anything again";
  EXPECT_GT(budget, 0) << "no budget is refused";
}

INSTANTIATE_TEST_SUITE_P(Nets, MicroBatchChoice, ::testing::ValuesIn(kNets),
                         [](const auto& info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(Nets, MicroBatchBudgets, ::testing::ValuesIn(std::begin(kNets) + 1, std::end(kNets)),
                         [](const auto& info) { return std::string(info.param.name); });

class ChoiceOfResnet : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = test_folder();
    config_ = write_tiny_config(folder_, "resnet");
  }

  std::vector<std::string> with(std::vector<std::string> more) const {
    std::vector<std::string> all = {kLarger, "memory.micro_batch=0", "memory.cost_file=" + folder_ + "/costs.json"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static std::string budget(int64_t bytes) { return "memory.budget=" + std::to_string(bytes); }

  // Several pages of activations with eight samples at once.
  static constexpr const char* kLarger = "model.width=24";

  int64_t peak(const std::string& micro_batch) {
    return TinyRun(config_, with({"memory.micro_batch=" + micro_batch})).planned().planned_peak_bytes;
  }

  std::string folder_, config_;
};

TEST_F(ChoiceOfResnet, TheWholeBatchStaysWhereItFits) {
  const TinyRun run(config_, with({"memory.recompute=auto", budget(peak("32"))}));
  EXPECT_EQ(run.planned().batch.micro_batch, 32);
  EXPECT_EQ(run.planned().recompute_overhead, 0);
  ASSERT_EQ(run.planned().micro_batches.size(), 1U);
  EXPECT_TRUE(run.planned().micro_batches[0].fits);
}

TEST_F(ChoiceOfResnet, ElseTheShortestPredictedStepOfWhatFitsIsTaken) {
  const TinyRun run(config_, with({"memory.recompute=auto", budget(peak("8"))}));
  const train::PlannedRun& planned = run.planned();
  ASSERT_GE(planned.micro_batches.size(), 2U);
  double least = std::numeric_limits<double>::infinity(), taken = 0;
  int64_t before = 64;
  for (const train::MicroBatchOption& option : planned.micro_batches) {
    EXPECT_LT(option.micro_batch, before) << "the largest first";
    before = option.micro_batch;
    EXPECT_EQ(32 % option.micro_batch, 0);
    EXPECT_EQ(option.micro_batch % 8, 0) << "whole groups";
    if (!option.fits) continue;
    EXPECT_LE(option.planned_peak_bytes, planned.budget_bytes);
    ASSERT_TRUE(option.predicted_step_seconds.has_value());
    least = std::min(least, *option.predicted_step_seconds);
    if (option.micro_batch == planned.batch.micro_batch) taken = *option.predicted_step_seconds;
  }
  EXPECT_EQ(planned.micro_batches.front().micro_batch, 32);
  EXPECT_EQ(planned.micro_batches.back().recompute_overhead, 0) << "smaller ones are not looked at";
  EXPECT_EQ(taken, least);
  EXPECT_EQ(planned.predicted_step_seconds, taken) << "the program is that of the one taken";
  EXPECT_NE(run.program().find_body("micro_batch[" + std::to_string(planned.batch.micro_batch) + "]"), nullptr);
  EXPECT_FALSE(planned.cost_digest.empty()) << "the choice hangs on costs";
}

TEST_F(ChoiceOfResnet, AGivenOneStays) {
  for (const char* given : {"32", "16"}) {
    const TinyRun run(config_, with({"memory.recompute=auto", std::string("memory.micro_batch=") + given,
                                     budget(peak(given) - (2 << 20))}));
    EXPECT_EQ(std::to_string(run.planned().batch.micro_batch), given);
    EXPECT_EQ(run.planned().micro_batches.size(), 1U);
    EXPECT_GT(run.planned().recompute_overhead, 0);
  }
}

TEST_F(ChoiceOfResnet, WithoutRecomputationTheLargestThatFitsIsTaken) {
  const TinyRun run(config_, with({budget(peak("16"))}));
  EXPECT_EQ(run.planned().batch.micro_batch, 16);
  ASSERT_EQ(run.planned().micro_batches.size(), 2U);
  EXPECT_FALSE(run.planned().micro_batches[0].fits);
  EXPECT_TRUE(run.planned().micro_batches[1].fits);
  const TinyRun none(config_, with({budget(2 << 20)}));
  EXPECT_THROW(train::check_budget(none.planned(), none.budget()), Error);
}

TEST_F(ChoiceOfResnet, CostsMeasuredAgainDoNotMakeAFittingBatchSmaller) {
  const config::LoadedConfig config = config::load_config(config_, with({"memory.recompute=auto"}), all_lists());
  TinyRun tiny(config_, with({}));
  const ops::OpSet ops = ops::all_ops();
  train::PlannedRun run = train::prepare_run(config);
  train::compile_run(run, config, ops, tiny.device(), tiny.planned().planned_peak_bytes, {.measure_again = true});
  EXPECT_EQ(run.batch.micro_batch, 32);
  EXPECT_EQ(run.recompute_overhead, 0);
  EXPECT_EQ(run.micro_batches.size(), 3U) << "32, 16 and 8 were measured";
}

TEST_F(ChoiceOfResnet, AnInterruptedRunGoesOnWithAnotherOne) {
  const std::string dir = "checkpoint.dir=" + folder_ + "/run";
  const Outcome want = [&] {
    TinyRun whole(config_, with({}));
    whole.start();
    const train::RunReport report = whole.train();
    return Outcome{report.losses, whole.parameters_sha256(), persistent(whole, Category::statistics)};
  }();
  const Finished first =
      run_program(folder_, {"train", "-c", config_, "--set", kLarger, "--set", "memory.micro_batch=0", "--set", dir,
                            "--set", "train.steps=3", "--json"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const Finished second =
      run_program(folder_, {"train", "-c", config_, "--set", kLarger, "--set", "memory.micro_batch=0", "--set", dir,
                            "--set", budget(peak("8")), "--resume", "--json"});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_EQ(second.json()["micro_batches"][0], 8);
  EXPECT_NE(second.err.find("micro_batch=8 "), std::string::npos) << "the log tells what was taken: " << second.err;
  EXPECT_EQ(second.json()["parameters_sha256"], want.parameters_sha256);
  EXPECT_EQ(second.err.find("kernels"), std::string::npos) << second.err;
}

TEST_F(ChoiceOfResnet, TheCurveHasTheMicroBatchesAndItsOverheadNeverRises) {
  const config::LoadedConfig config = config::load_config(config_, with({"memory.recompute=auto"}), all_lists());
  TinyRun tiny(config_, with({}));
  const ops::OpSet ops = ops::all_ops();
  const auto points = train::plan_frontier(config, ops, tiny.device(), 6);
  std::set<int64_t> taken;
  double before = std::numeric_limits<double>::infinity();
  for (const train::BudgetPoint& point : points) {
    ASSERT_TRUE(point.reached);
    EXPECT_LE(point.overhead, before);
    before = point.overhead;
    taken.insert(point.micro_batch);
  }
  EXPECT_LT(points.front().budget_bytes, peak("32"));
  EXPECT_EQ(points.back().overhead, 0);
  EXPECT_GT(taken.size(), 1U);
}

TEST_F(ChoiceOfResnet, ThePlanTellsWhatWasLookedAt) {
  const std::vector<std::string> plan = {"plan",
                                         "-c",
                                         config_,
                                         "--set",
                                         with({})[0],
                                         "--set",
                                         "memory.micro_batch=0",
                                         "--set",
                                         "memory.cost_file=" + folder_ + "/costs.json",
                                         "--json",
                                         "--budget"};
  std::vector<std::string> ample = plan, tight = plan;
  ample.push_back(std::to_string(peak("32")));
  tight.push_back(std::to_string(peak("16")));
  const Finished with_room = run_program(folder_, ample), without = run_program(folder_, tight);
  ASSERT_EQ(with_room.exit_code, 0) << with_room.err;
  EXPECT_TRUE(with_room.json()["micro_batches_considered"].empty());
  ASSERT_EQ(without.exit_code, 0) << without.err;
  const auto considered = without.json()["micro_batches_considered"];
  ASSERT_EQ(considered.size(), 2U);
  EXPECT_EQ(considered[0]["micro_batch"], 32);
  EXPECT_FALSE(considered[0]["fits"]);
  EXPECT_EQ(considered[0]["why_not"], "does not fit");
  EXPECT_EQ(considered[1]["micro_batch"], 16);
  EXPECT_TRUE(considered[1]["taken"]);
  tight.erase(std::ranges::find(tight, "--json"));
  const Finished text = run_program(folder_, tight);
  EXPECT_NE(text.out.find("micro-batches  looked at: 32: does not fit; 16 (taken): 0.00 % more cost"),
            std::string::npos)
      << text.out;
}

class GroupsRefused : public ::testing::Test {
 protected:
  static std::string refusal(const std::string& model, const std::vector<std::string>& overrides) {
    const std::string folder = test_folder();
    try {
      TinyRun run(write_tiny_config(folder, model), overrides);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::config);
      return error.what();
    }
    return "accepted";
  }
};

TEST_F(GroupsRefused, WhereTheyMeanNothing) {
  EXPECT_NE(refusal("lstm", {"memory.sum_batch=8"}).find("memory.sum_batch has no meaning"), std::string::npos);
  EXPECT_NE(refusal("resnet", {"memory.sum_batch=16"}).find("'memory.sum_batch' (16) must be memory.norm_batch (8)"),
            std::string::npos);
  EXPECT_NE(refusal("gpt", {"memory.sum_batch=8", "memory.micro_batch=12"}).find("must be a multiple of memory.sum"),
            std::string::npos);
  EXPECT_EQ(refusal("gpt", {"memory.sum_batch=8", "memory.micro_batch=16"}), "accepted");
}

TEST_F(GroupsRefused, WithoutGroupsTheWholeBatchStays) {
  const std::string folder = test_folder();
  const std::string config = write_tiny_config(folder, "gpt");
  const TinyRun plain(config);
  const TinyRun tight(config, {"memory.recompute=auto", "memory.cost_file=" + folder + "/costs.json",
                               "memory.budget=" + std::to_string(plain.planned().planned_peak_bytes - (2 << 20))});
  EXPECT_EQ(tight.planned().batch.micro_batch, 32);
  EXPECT_EQ(tight.planned().micro_batches.size(), 1U);
  EXPECT_GT(tight.planned().recompute_overhead, 0);
}

}  // namespace
}  // namespace tidemark::tests
