// Promise 3 with recomputation (and cases 4 and 5): a budget below the plain plan's peak changes when things are
// computed, and no bit of what is computed: dropout masks are drawn again alike, statistics of batch norm are updated
// once.
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/integration/differences.h"
#include "tests/integration/tiny_data.h"
#include "tests/integration/tiny_run.h"

namespace tidemark::tests {
namespace {

class Recompute : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    folder_ = test_folder();
    config_ = write_tiny_config(folder_, GetParam());
  }

  std::vector<std::string> within(int64_t budget_bytes) const {
    return {"memory.recompute=auto", "memory.cost_file=" + folder_ + "/costs.json",
            "memory.budget=" + std::to_string(budget_bytes)};
  }

  std::string folder_, config_;
};

TEST_P(Recompute, OnePageLessHasTheSameBits) {
  TinyRun plain(config_);
  plain.start();
  const train::RunReport plain_report = plain.train();
  const int64_t less_bytes = plain.planned().planned_peak_bytes - plain.device().granularity_bytes();

  TinyRun tight(config_, within(less_bytes));
  EXPECT_NO_THROW(train::check_budget(tight.planned(), tight.budget()));
  EXPECT_GT(tight.planned().recompute_overhead, 0) << "something runs twice";
  tight.start();
  const train::RunReport report = tight.train();
  EXPECT_EQ(report.measured_peak_bytes, tight.planned().planned_peak_bytes);
  EXPECT_LE(report.measured_peak_bytes, less_bytes);
  EXPECT_EQ(report.losses, plain_report.losses);
  EXPECT_EQ(report.eval->loss, plain_report.eval->loss);
  EXPECT_EQ(tight.parameters_sha256(), plain.parameters_sha256());
  EXPECT_EQ(persistent(tight, Category::statistics), persistent(plain, Category::statistics));
}

INSTANTIATE_TEST_SUITE_P(Models, Recompute, ::testing::Values("resnet", "gpt"),
                         [](const auto& info) { return std::string(info.param); });

class RecomputeRefused : public Recompute {};

TEST_P(RecomputeRefused, WhatNoScheduleFitsIsRefusedWithNumbersAndSettings) {
  const int64_t budget_bytes = 4 << 20;  // below weights and optimizer state
  try {
    const TinyRun tiny(config_, within(budget_bytes));
    train::check_budget(tiny.planned(), tiny.budget());
    FAIL() << "accepted";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_NE(text.find("arena for 'mlp/"), std::string::npos) << text;
    EXPECT_NE(text.find(std::to_string(budget_bytes)), std::string::npos) << text;
    EXPECT_NE(text.find("memory.budget"), std::string::npos) << text;
    EXPECT_NE(text.find("memory.micro_batch"), std::string::npos) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, RecomputeRefused, ::testing::Values("mlp"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tidemark::tests
