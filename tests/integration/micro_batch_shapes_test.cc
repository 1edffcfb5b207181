// Promise 3 where sums are made in groups, at shapes that do not come out even and under every setting that touches the
// arena: neither steps nor evaluations hang on the micro-batch.
#include <gtest/gtest.h>

#include <limits>
#include <ostream>

#include "framework/compile/compile.h"
#include "tests/integration/program.h"
#include "tests/integration/tiny_data.h"
#include "tests/integration/tiny_run.h"

namespace tidemark::tests {
namespace {

// 75 = 2 x 32 + 11 images to train with, 43 = 32 + 11 to evaluate: with groups of 8 the last one is of 3.
constexpr int64_t kTrainImages = 75, kEvalImages = 43;

struct Shape {
  const char* name;
  const char* model;
  std::vector<std::string> overrides;
  std::vector<std::string> micro_batches;  // besides the global batch
};

const Shape kShapes[] = {
    {"LastGroupSmaller", "resnet", {"train.momentum=0.9", "train.clip_norm=0.5"}, {"24", "16", "8"}},
    {"TwoThreads", "resnet", {"train.momentum=0.9", "train.threads=2"}, {"16", "8"}},
    {"GroupAboveHalf", "resnet", {"memory.norm_batch=24"}, {"24"}},
    {"GroupsOfOne", "resnet", {"memory.norm_batch=1"}, {"12", "1"}},
    {"GroupsThatDoNotDivide", "resnet", {"memory.norm_batch=5"}, {"20", "5"}},
    {"FewerImagesThanABatch", "resnet", {"train.global_batch=128"}, {"64", "8"}},
    {"OneGroup", "resnet", {"memory.norm_batch=32"}, {}},
    {"PartOfAnEvaluation", "resnet", {"train.eval_samples=33"}, {"8"}},
    {"Debug", "resnet", {"memory.debug=true"}, {"8"}},
    {"Growth", "resnet", {"memory.growth=true"}, {"8"}},
    {"OtherPlanner", "resnet", {"memory.planner=size_first_fit"}, {"8"}},
    {"Perceptron", "mlp", {"memory.sum_batch=8"}, {"24", "8"}},
    {"PerceptronByOnes", "mlp", {"memory.sum_batch=1", "train.clip_norm=0.5"}, {"7", "1"}},
};

void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.name; }

class MicroBatchShapes : public ::testing::TestWithParam<Shape> {};

TEST_P(MicroBatchShapes, StepsAndEvaluationsHaveTheSameBits) {
  const std::string folder = test_folder(), config = write_tiny_config(folder, GetParam().model);
  write_images(folder + "/images", kTrainImages, kEvalImages);
  const auto train_with = [&](const std::string& micro_batch) {
    std::vector<std::string> overrides = GetParam().overrides;
    overrides.insert(overrides.end(), {"train.steps=9", "memory.micro_batch=" + micro_batch});
    return train_tiny(config, overrides);
  };
  const TinyResult whole = train_with("0");
  ASSERT_EQ(whole.losses.size(), 9U);
  ASSERT_TRUE(whole.report.eval.has_value());
  for (const std::string& micro_batch : GetParam().micro_batches) {
    const TinyResult smaller = train_with(micro_batch);
    EXPECT_EQ(smaller.losses, whole.losses) << micro_batch;
    EXPECT_EQ(smaller.parameters_sha256, whole.parameters_sha256) << micro_batch;
    EXPECT_EQ(smaller.report.eval->samples, whole.report.eval->samples) << micro_batch;
    EXPECT_EQ(smaller.report.eval->loss, whole.report.eval->loss) << micro_batch;
    EXPECT_EQ(smaller.report.eval->accuracy, whole.report.eval->accuracy) << micro_batch;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, MicroBatchShapes, ::testing::ValuesIn(kShapes),
                         [](const auto& info) { return std::string(info.param.name); });

class Choice : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = test_folder();
    config_ = write_tiny_config(folder_, "resnet");
  }

  std::vector<std::string> with(std::vector<std::string> more) const {
    more.insert(more.end(), {"memory.micro_batch=0", "memory.cost_file=" + folder_ + "/costs.json"});
    return more;
  }

  std::string folder_, config_;
};

// A step is of as many samples as there are.
TEST_F(Choice, OfABatchWithFewerSamplesIsTheShortestStepToo) {
  write_images(folder_ + "/images", kTrainImages, kEvalImages);
  const int64_t most =
      TinyRun(config_, with({"train.global_batch=128", "model.blocks=[2, 2]"})).planned().planned_peak_bytes;
  const TinyRun run(config_, with({"train.global_batch=128", "model.blocks=[2, 2]", "memory.recompute=auto",
                                   "memory.budget=" + std::to_string(most - (2 << 20))}));
  const train::PlannedRun& planned = run.planned();
  double least = std::numeric_limits<double>::infinity();
  for (const train::MicroBatchOption& option : planned.micro_batches) {
    if (!option.fits) continue;
    ASSERT_TRUE(option.predicted_step_seconds.has_value());
    least = std::min(least, *option.predicted_step_seconds);
  }
  EXPECT_EQ(planned.predicted_step_seconds, least);
  int64_t forward_and_backward = 0;
  for (const compile::Body& body : run.program().bodies)
    if (body.name.starts_with("step") || body.name.starts_with("micro_batch"))
      forward_and_backward = std::max(forward_and_backward, body.cost_nanoseconds.value_or(0));
  EXPECT_GT(forward_and_backward, 0);
  EXPECT_GE(planned.predicted_step_seconds.value_or(0), 1e-9 * static_cast<double>(forward_and_backward));
}

// Parts of a batch keep the gradients of all these weights over the step; the whole batch drops each after its update.
TEST_F(Choice, ARefusalNamesTheLeastBudgetAlsoWhereTheWholeBatchHasIt) {
  const std::string mlp = write_tiny_config(folder_, "mlp");
  const auto within = [&](int64_t budget) {
    return with({"memory.sum_batch=8", "model.hidden=[1024, 1024]", "memory.recompute=auto",
                 "memory.budget=" + std::to_string(budget)});
  };
  const auto least_budget = [&](int64_t budget) {
    try {
      TinyRun run(mlp, within(budget));
    } catch (const compile::BudgetRefusal& refusal) {
      return refusal.least_budget_bytes();
    }
    return int64_t{0};
  };
  const int64_t page = TinyRun(mlp).device().granularity_bytes(), least = least_budget(page);
  ASSERT_GT(least, page);
  const TinyRun run(mlp, within(least));
  EXPECT_LE(run.planned().planned_peak_bytes, least);
  EXPECT_EQ(run.planned().batch.micro_batch, 32);
  EXPECT_EQ(least_budget(least - page), least) << "a page less does not work";
}

TEST_F(Choice, OneSampleABatchHasNothingToChoose) {
  const TinyRun run(config_, with({"train.global_batch=1", "memory.norm_batch=1", "memory.budget=64MiB"}));
  EXPECT_EQ(run.planned().batch.micro_batch, 1);
  EXPECT_EQ(run.planned().micro_batches.size(), 1U);
}

TEST_F(Choice, OnADeviceThatIsTooSmallTrainsWithTheSameBits) {
  const TinyResult whole = train_tiny(config_, with({"model.blocks=[2, 2]"}));
  const std::string device = "device=sim:choice?size=" + std::to_string(whole.report.measured_peak_bytes - (2 << 20));
  TinyRun small(config_, with({"model.blocks=[2, 2]", device}));
  EXPECT_LT(small.planned().batch.micro_batch, 32);
  small.start();
  const train::RunReport report = small.train();
  EXPECT_EQ(report.losses, whole.losses);
  EXPECT_EQ(report.eval->loss, whole.report.eval->loss);
  EXPECT_EQ(small.parameters_sha256(), whole.parameters_sha256);
  EXPECT_EQ(report.measured_peak_bytes, small.planned().planned_peak_bytes);
}

TEST_F(Choice, TheCurveTellsMicroBatchAndStep) {
  std::vector<std::string> arguments = {"plan", "-c", config_, "--frontier", "--points", "5"};
  for (const std::string& setting : with({"memory.recompute=auto"}))
    arguments.insert(arguments.end(), {"--set", setting});
  const Finished text = run_program(folder_, arguments);
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("peak micro-batch   overhead"), std::string::npos) << text.out;
  arguments.push_back("--json");
  const Finished json = run_program(folder_, arguments);
  ASSERT_EQ(json.exit_code, 0) << json.err;
  const nlohmann::json curve = json.json()["frontier"];
  ASSERT_GE(curve.size(), 2U) << json.out;
  for (const nlohmann::json& point : curve) {
    EXPECT_TRUE(point["micro_batch"] == 8 || point["micro_batch"] == 16 || point["micro_batch"] == 32) << point;
    EXPECT_TRUE(point.contains("predicted_step_seconds")) << point;
  }
  EXPECT_EQ(curve.back()["micro_batch"], 32);
}

}  // namespace
}  // namespace tidemark::tests
