// Case 6: micro-batches weighted equally although they hold different numbers of tokens; the last partial window
// dropped. Here 10 + 90 tokens in two micro-batches are one batch of 100, and a window of padding alone is harmless.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/integration/differences.h"
#include "tests/integration/tiny_data.h"

namespace tidemark::tests {
namespace {

constexpr int64_t kContext = 90;
constexpr double kTolerance = 1e-6;

struct Step {
  double loss = 0;
  Tensors gradients;
};

class UnevenWindows : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string folder = test_folder();
    config_ = write_tiny_config(folder, "gpt");
    write_file(folder + "/text.txt", words(121));  // 101 bytes to train on: 100 tokens with a target
  }

  std::vector<std::string> overrides(int64_t global_batch, int64_t micro_batch) {
    return {"model.context=90",
            "model.dropout=0",
            "data.eval_share=0.17",
            "train.clip_norm=1e9",
            "train.global_batch=" + std::to_string(global_batch),
            "memory.micro_batch=" + std::to_string(micro_batch)};
  }

  data::HostBatch both_windows(int64_t global_batch, int64_t offset) {
    TinyRun tiny(config_, overrides(global_batch, 1));
    EXPECT_EQ(tiny.planned().batch.train_samples, 2);
    data::Loader loader(*tiny.planned().dataset, {.global_batch = global_batch, .seed = 1, .shuffle = false},
                        {0, offset});
    return loader.next();
  }

  // From the first values on.
  Step step(int64_t micro_batch, const data::HostBatch& batch) {
    TinyRun tiny(config_, overrides(2, micro_batch));
    tiny.start();
    const double loss = tiny.trainer().step(batch).loss;
    return {loss, gradients(tiny)};
  }

  std::string config_;
};

TEST_F(UnevenWindows, TenAndNinetyTokensAreOneHundred) {
  const data::HostBatch batch = both_windows(2, 0);
  ASSERT_EQ(batch.samples, 2) << "the short window counts";
  ASSERT_EQ(batch.targets, 100);
  const Step whole = step(2, batch), split = step(1, batch);
  EXPECT_NEAR(split.loss, whole.loss, kTolerance * whole.loss);
  for (const auto& [name, gradient] : whole.gradients)
    EXPECT_LE(relative_distance(split.gradients.at(name), gradient), 1e-5) << name;

  const data::HostBatch long_window = both_windows(1, 0), short_window = both_windows(1, 1);
  ASSERT_EQ(long_window.targets, kContext);
  ASSERT_EQ(short_window.targets, 10);
  const double of_long = step(1, long_window).loss, of_short = step(1, short_window).loss;
  const double by_tokens = (90 * of_long + 10 * of_short) / 100, by_windows = (of_long + of_short) / 2;
  ASSERT_GT(std::abs(by_tokens - by_windows), 100 * kTolerance) << "the two ways to weight must be told apart";
  EXPECT_NEAR(split.loss, by_tokens, 10 * kTolerance);
}

TEST_F(UnevenWindows, AWindowOfPaddingChangesNothing) {
  const data::HostBatch alone = both_windows(1, 0);
  data::HostBatch padded = both_windows(2, 0);
  const size_t row_bytes = kContext * sizeof(int32_t);
  std::memset(padded.fields[0].data() + row_bytes, 0, row_bytes);
  std::memset(padded.fields[1].data() + row_bytes, 0xff, row_bytes);  // targets of -1
  padded.targets = alone.targets;
  const Step reference = step(1, alone);
  for (const int64_t micro_batch : {1, 2}) {
    const Step with_padding = step(micro_batch, padded);
    EXPECT_NEAR(with_padding.loss, reference.loss, kTolerance * reference.loss);
    for (const auto& [name, gradient] : reference.gradients)
      EXPECT_LE(relative_distance(with_padding.gradients.at(name), gradient), 1e-5) << name;
  }
}

}  // namespace
}  // namespace tidemark::tests
