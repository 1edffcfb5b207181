// Promise 3, another micro-batch: only the order of float sums differs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "framework/data/loader.h"
#include "tests/integration/differences.h"
#include "tests/integration/tiny_data.h"

namespace tidemark::tests {
namespace {

constexpr double kLossTolerance = 1e-6;
constexpr double kGradientTolerance = 1e-5;

// Clipping that never bites keeps the gradients of the whole batch in the arena too.
std::vector<std::string> micro_batch(const std::string& samples) {
  return {"memory.micro_batch=" + samples, "train.clip_norm=1e9"};
}

struct OneStep {
  double loss = 0;
  Tensors gradients;
  Tensors statistics;
  std::vector<int32_t> counters;  // of batch-norm updates
};

class MicroBatch : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { config_ = write_tiny_config(test_folder(), GetParam()); }

  OneStep one_step(std::vector<std::string> overrides) {
    TinyRun tiny(config_, overrides);
    tiny.start();
    data::Loader loader(*tiny.planned().dataset,
                        {.global_batch = tiny.planned().batch.global_batch, .seed = tiny.planned().batch.seed});
    const double loss = tiny.trainer().step(loader.next()).loss;
    return {loss, gradients(tiny), persistent(tiny, Category::statistics), counters(tiny)};
  }

  static std::vector<int32_t> counters(TinyRun& tiny) {
    std::vector<int32_t> values;
    for (const auto& p : tiny.trainer().persistent())
      if (p.tensor->type.dtype == DType::i32) values.push_back(*reinterpret_cast<const int32_t*>(p.bytes.data()));
    return values;
  }

  static void expect_close(const OneStep& other, const OneStep& whole) {
    EXPECT_LE(std::abs(other.loss - whole.loss), kLossTolerance * std::abs(whole.loss));
    ASSERT_EQ(other.gradients.size(), whole.gradients.size());
    for (const auto& [name, gradient] : whole.gradients)
      EXPECT_LE(relative_distance(other.gradients.at(name), gradient), kGradientTolerance) << name;
  }

  std::string config_;
};

class MicroBatchWithDropout : public MicroBatch {};
class MicroBatchWithBatchNorm : public MicroBatch {};
class MicroBatchOfImages : public MicroBatch {};

TEST_P(MicroBatch, LossAndGradientsOfAStepAreThoseOfTheWholeBatch) {
  const OneStep whole = one_step(micro_batch("32"));
  for (const char* samples : {"8", "16"}) {
    SCOPED_TRACE(samples);
    expect_close(one_step(micro_batch(samples)), whole);
  }
}

// A mask that hung on the place in the micro-batch would give another loss by far more than the tolerance.
TEST_P(MicroBatchWithDropout, MasksDoNotHangOnIt) {
  const auto strong = [](const char* samples) {
    std::vector<std::string> overrides = micro_batch(samples);
    overrides.push_back("model.dropout=0.5");
    return overrides;
  };
  const OneStep whole = one_step(strong("32"));
  for (const char* samples : {"8", "16"}) {
    SCOPED_TRACE(samples);
    expect_close(one_step(strong(samples)), whole);
  }
  std::vector<std::string> without = micro_batch("32");
  without.push_back("model.dropout=0");
  EXPECT_GT(std::abs(one_step(without).loss - whole.loss), 100 * kLossTolerance) << "no mask at all";
}

TEST_P(MicroBatchWithBatchNorm, StatisticsOfFixedGroupsAreBitIdentical) {
  const OneStep whole = one_step(micro_batch("32"));
  ASSERT_FALSE(whole.statistics.empty());
  for (const char* samples : {"8", "16"})
    EXPECT_EQ(one_step(micro_batch(samples)).statistics, whole.statistics) << samples;
  ASSERT_FALSE(whole.counters.empty());
  for (const char* samples : {"8", "16", "32"})
    EXPECT_EQ(one_step(micro_batch(samples)).counters, std::vector<int32_t>(whole.counters.size(), 32 / 8))
        << "once per group of eight";
  std::vector<std::string> other_groups = micro_batch("32");
  other_groups.push_back("memory.norm_batch=16");
  EXPECT_NE(one_step(other_groups).statistics, whole.statistics) << "the groups are what the statistics hang on";
}

// Over a run small differences grow as the model makes them grow; one ulp in the first weights is the measure.
TEST_P(MicroBatch, OverARunItIsNoFurtherThanOneUlpInTheWeights) {
  constexpr int kMovedRuns = 5;
  const auto losses = [&](std::vector<std::string> overrides, uint64_t moved) {
    overrides.push_back("train.steps=24");
    overrides.push_back("train.eval_every=24");
    TinyRun tiny(config_, overrides);
    tiny.start();
    if (moved > 0) move_weights_by_one_ulp(tiny, moved);
    return tiny.train().losses;
  };
  const auto whole = losses(micro_batch("32"), 0);
  double largest = 0;
  for (uint64_t seed = 1; seed <= kMovedRuns; ++seed)
    largest = std::max(largest, rms_difference(losses(micro_batch("32"), seed), whole));
  ASSERT_GT(largest, 0);
  for (const char* samples : {"8", "16"})
    EXPECT_LE(rms_difference(losses(micro_batch(samples), 0), whole), 4 * largest) << samples;
}

// 80 samples in batches of 32: the third step has 16, and its loss is the mean over those 16.
TEST_P(MicroBatchOfImages, TheLastPartialBatchCountsItsOwnSamples) {
  const auto third_loss = [&](const char* samples) {
    TinyRun tiny(config_, micro_batch(samples));
    tiny.start();
    data::Loader loader(*tiny.planned().dataset, {.global_batch = 32, .seed = tiny.planned().batch.seed}, {0, 64});
    const data::HostBatch& batch = loader.next();
    EXPECT_EQ(batch.samples, 16);
    return tiny.trainer().step(batch).loss;
  };
  const double whole = third_loss("32");
  EXPECT_NEAR(third_loss("8"), whole, kLossTolerance * whole);
  EXPECT_NEAR(third_loss("16"), whole, kLossTolerance * whole);
  EXPECT_GT(whole, 1.0) << "untrained and of ten classes: a loss divided by 32 would be half of it";
}

std::string model_name(const ::testing::TestParamInfo<const char*>& info) { return info.param; }

INSTANTIATE_TEST_SUITE_P(Models, MicroBatch, ::testing::Values("mlp", "resnet", "gpt"), model_name);
INSTANTIATE_TEST_SUITE_P(Models, MicroBatchWithDropout, ::testing::Values("mlp", "gpt"), model_name);
INSTANTIATE_TEST_SUITE_P(Models, MicroBatchWithBatchNorm, ::testing::Values("resnet"), model_name);
INSTANTIATE_TEST_SUITE_P(Models, MicroBatchOfImages, ::testing::Values("mlp", "resnet"), model_name);

}  // namespace
}  // namespace tidemark::tests
