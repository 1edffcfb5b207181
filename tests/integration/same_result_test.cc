// Promise 3, bit for bit: what changes nothing but layout and order of work changes no bit of losses and parameters.
#include <gtest/gtest.h>

#include "memory/arena/offset_planner.h"
#include "tests/integration/tiny_data.h"
#include "tests/integration/tiny_run.h"

namespace tidemark::tests {
namespace {

class SameResult : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { config_ = write_tiny_config(test_folder(), GetParam()); }

  void expect_same(const TinyResult& reference, const std::vector<std::string>& overrides) {
    const TinyResult other = train_tiny(config_, overrides);
    EXPECT_EQ(other.losses, reference.losses) << ::testing::PrintToString(overrides);
    EXPECT_EQ(other.parameters_sha256, reference.parameters_sha256) << ::testing::PrintToString(overrides);
    EXPECT_EQ(other.report.eval->loss, reference.report.eval->loss) << ::testing::PrintToString(overrides);
  }

  std::string config_;
};

TEST_P(SameResult, Again) { expect_same(train_tiny(config_), {}); }

TEST_P(SameResult, AnotherSeedIsAnotherRun) {
  const TinyResult one = train_tiny(config_), two = train_tiny(config_, {"train.seed=4"});
  EXPECT_NE(one.losses, two.losses);
  EXPECT_NE(one.parameters_sha256, two.parameters_sha256);
}

TEST_P(SameResult, EveryPlannerAndGrowth) {
  const TinyResult reference = train_tiny(config_);
  for (const auto& planner : memory::all_offset_planners())
    expect_same(reference, {"memory.planner=" + std::string(planner->name())});
  expect_same(reference, {"memory.growth=true"});
}

TEST_P(SameResult, UnderTheMemoryDebugger) {
  expect_same(train_tiny(config_), {"memory.debug=true"});
  const std::string accumulated = "memory.micro_batch=16";
  expect_same(train_tiny(config_, {accumulated}), {accumulated, "memory.debug=true"});
}

TEST_P(SameResult, LearnsSomething) {
  const TinyResult result = train_tiny(config_, {"train.steps=20", "train.eval_every=20"});
  EXPECT_LT(result.losses.back(), 0.8 * result.losses.front());
}

TEST_P(SameResult, TwoThreadsGiveTheSameBitsEveryTime) {
  const TinyResult reference = train_tiny(config_, {"train.threads=2"});
  expect_same(reference, {"train.threads=2"});
  EXPECT_NEAR(reference.losses.front(), train_tiny(config_).losses.front(), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Models, SameResult, ::testing::Values("mlp", "resnet", "gpt"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tidemark::tests
