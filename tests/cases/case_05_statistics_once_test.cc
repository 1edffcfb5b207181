// Case 5: batch-norm running statistics updated twice under checkpointing. Here mean, variance and counter are the same
// with and without recomputation; with an update for every run they are not.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/cases/recomputed_run.h"
#include "tests/integration/tiny_data.h"

namespace tidemark::tests {
namespace {

constexpr int32_t kGroups = 20;  // six steps of 32, 32 and 16 samples in groups of 8

// The statistics are updated again, as a forward pass that updates them would when it runs again.
class UpdateTwice : public WrappedKernel {
 public:
  using WrappedKernel::WrappedKernel;
  void run(const ops::KernelArgs& args) const override {
    inner_->run(args);
    inner_->run(args);
  }
};

struct Statistics {
  Tensors moments;  // running means and variances
  std::vector<int32_t> counters;
};

class StatisticsOnce : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = test_folder();
    config_ = write_tiny_config(folder_, "resnet");
  }

  std::unique_ptr<TinyRun> tight() { return run_within_least_budget(config_, folder_, {}); }

  static Statistics train(TinyRun& tiny) {
    tiny.start();
    tiny.train();
    Statistics statistics{persistent(tiny, Category::statistics), {}};
    for (const auto& p : tiny.trainer().persistent()) {
      if (p.tensor->category != Category::statistics || p.tensor->type.dtype != DType::i32) continue;
      std::memcpy(&statistics.counters.emplace_back(), p.bytes.data(), sizeof(int32_t));
    }
    return statistics;
  }

  std::string folder_, config_;
};

TEST_F(StatisticsOnce, MeanVarianceAndCounterAreIdentical) {
  TinyRun plain(config_);
  const Statistics want = train(plain);
  ASSERT_FALSE(want.counters.empty());
  for (const int32_t counter : want.counters) EXPECT_EQ(counter, kGroups);
  const auto recomputed = tight();
  EXPECT_FALSE(again(recomputed->program(), "batch_norm_apply").empty()) << "no batch norm runs again";
  EXPECT_TRUE(again(recomputed->program(), "batch_norm_update_statistics").empty());
  const Statistics got = train(*recomputed);
  EXPECT_EQ(got.moments, want.moments);
  EXPECT_EQ(got.counters, want.counters);
}

TEST_F(StatisticsOnce, AnUpdateTooManyIsNoticed) {
  TinyRun plain(config_);
  const Statistics want = train(plain);
  const auto recomputed = tight();
  ASSERT_GT(wrap_kernels<UpdateTwice>(*recomputed, "batch_norm_update_statistics", false), 0);
  const Statistics got = train(*recomputed);
  EXPECT_NE(got.moments, want.moments);
  for (const int32_t counter : got.counters) EXPECT_EQ(counter, 2 * kGroups);
}

}  // namespace
}  // namespace tidemark::tests
