// Promises 1 and 3 over the whole range of budgets: 100 steps with dropout (mlp, gpt) or batch norm (resnet) give the
// same bits at every budget that works, and what is planned is what is measured.
#include <gtest/gtest.h>

#include "framework/compile/compile.h"
#include "tests/integration/differences.h"
#include "tests/integration/tiny_data.h"
#include "tests/integration/tiny_run.h"

namespace tidemark::tests {
namespace {

// Shares of the bytes that stand above parameters, optimizer state and statistics in the plain plan.
constexpr double kShares[] = {0.9, 0.7, 0.5};

struct Net {
  const char* model;
  std::vector<std::string> overrides;
};

// Activations of several pages in steps of a few milliseconds.
const Net kNets[] = {
    {"mlp", {"model.hidden=[64, 64, 64, 64, 64, 64, 64, 64, 64, 64]", "model.dropout=0.2", "train.global_batch=1024"}},
    {"resnet", {"model.blocks=[1, 1]"}},
    {"gpt", {"model.layers=3"}},
};

struct Outcome {
  std::vector<double> losses;
  std::string parameters_sha256;
  Tensors statistics;
};

class RecomputeBudgets : public ::testing::TestWithParam<Net> {
 protected:
  void SetUp() override {
    folder_ = test_folder();
    config_ = write_tiny_config(folder_, GetParam().model);
    if (std::string(GetParam().model) == "mlp") write_images(folder_ + "/images", 1024, 32);
    overrides_ = GetParam().overrides;
    overrides_.insert(overrides_.end(), {"train.steps=100", "train.eval_every=50"});
  }

  std::vector<std::string> within(int64_t budget_bytes) const {
    std::vector<std::string> all = overrides_;
    all.insert(all.end(), {"memory.recompute=auto", "memory.cost_file=" + folder_ + "/costs.json",
                           "memory.budget=" + std::to_string(budget_bytes)});
    return all;
  }

  // The least budget that works, which the refusal of another names.
  int64_t least_budget(int64_t refused_bytes) const {
    try {
      TinyRun(config_, within(refused_bytes));
    } catch (const compile::BudgetRefusal& refusal) {
      return refusal.least_budget_bytes();
    }
    ADD_FAILURE() << refused_bytes << " bytes are enough";
    return refused_bytes;
  }

  static Outcome train(TinyRun& tiny) {
    tiny.start();
    const train::RunReport report = tiny.train();
    EXPECT_EQ(report.measured_peak_bytes, tiny.planned().planned_peak_bytes)
        << "budget " << tiny.budget().limit_bytes();
    EXPECT_LE(report.measured_peak_bytes, tiny.budget().limit_bytes());
    return {report.losses, tiny.parameters_sha256(), persistent(tiny, Category::statistics)};
  }

  static void expect_same(const Outcome& got, const Outcome& want, int64_t budget_bytes) {
    ASSERT_EQ(got.losses.size(), 100U);
    EXPECT_EQ(got.losses, want.losses) << "budget " << budget_bytes;
    EXPECT_EQ(got.parameters_sha256, want.parameters_sha256) << "budget " << budget_bytes;
    EXPECT_EQ(got.statistics, want.statistics) << "budget " << budget_bytes;
  }

  std::string folder_, config_;
  std::vector<std::string> overrides_;
};

TEST_P(RecomputeBudgets, OneHundredStepsHaveTheSameBitsAtEveryBudget) {
  TinyRun plain(config_, overrides_);
  const int64_t page = plain.device().granularity_bytes(), most = plain.planned().planned_peak_bytes;
  const int64_t persistent_bytes = plain.program().run_segment_bytes;
  const Outcome want = train(plain);

  const int64_t least = least_budget(std::max(page, persistent_bytes / page * page));
  ASSERT_LT(least, most) << "recomputation saves nothing";
  std::vector<int64_t> budgets = {most};
  for (const double share : kShares)
    budgets.push_back(plain.device().round_up(
        persistent_bytes + static_cast<int64_t>(share * static_cast<double>(most - persistent_bytes))));
  budgets.push_back(least);

  double overhead = 0;
  for (const int64_t budget : budgets) {
    if (budget < least) continue;
    TinyRun tight(config_, within(budget));
    EXPECT_EQ(tight.planned().recompute_overhead > 0, budget < most) << "budget " << budget;
    overhead = std::max(overhead, tight.planned().recompute_overhead);
    expect_same(train(tight), want, budget);
  }
  EXPECT_GT(overhead, 0);
  EXPECT_EQ(least_budget(least - page), least) << "one page less does not work";
}

INSTANTIATE_TEST_SUITE_P(Nets, RecomputeBudgets, ::testing::ValuesIn(kNets),
                         [](const auto& info) { return std::string(info.param.model); });

}  // namespace
}  // namespace tidemark::tests
