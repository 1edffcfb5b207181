#include "framework/train/progress.h"

#include <gtest/gtest.h>

#include <sstream>

namespace tidemark::train {
namespace {

ProgressLine line(int64_t step) {
  return {.step = step,
          .total_steps = 40,
          .epoch = 0.5,
          .loss = 1.25,
          .accuracy = 0.5,
          .samples_per_second = 1000,
          .tokens_per_second = 0,
          .learning_rate = 0.001,
          .memory_bytes = 1 << 20,
          .budget_bytes = 1 << 30};
}

TEST(Progress, PlainLinesComeEveryLogEverySteps) {
  std::ostringstream out;
  Progress progress(out, false, 10);
  for (int64_t step = 1; step <= 25; ++step) progress.step(line(step));
  EXPECT_EQ(out.str(),
            "step 10/40 loss 1.2500 acc 50.0% mem 1.0 MiB of 1.0 GiB 1000 samples/s lr 1.0e-03 epoch 0.50\n"
            "step 20/40 loss 1.2500 acc 50.0% mem 1.0 MiB of 1.0 GiB 1000 samples/s lr 1.0e-03 epoch 0.50\n");
}

TEST(Progress, TheLastStepIsAlwaysSaid) {
  std::ostringstream out;
  Progress progress(out, false, 1000);
  progress.step(line(40));
  EXPECT_NE(out.str().find("step 40/40"), std::string::npos);
}

TEST(Progress, ABarIsRedrawnInPlaceAndNotesStayAbove) {
  std::ostringstream out;
  Progress progress(out, true, 10);
  progress.step(line(10));
  progress.note("evaluation");
  EXPECT_NE(out.str().find("[##........]"), std::string::npos) << out.str();
  EXPECT_NE(out.str().find("\r\x1b[Kevaluation\n"), std::string::npos) << out.str();
}

TEST(Progress, ABarNeverWraps) {
  std::ostringstream out;
  Progress progress(out, true, 10, 40);
  progress.step(line(10));
  EXPECT_EQ(out.str().size(), 39U) << out.str();
}

TEST(Progress, TokensAreSaidWhereTheDataHasThem) {
  ProgressLine l = line(1);
  l.tokens_per_second = 2500;
  l.accuracy.reset();
  EXPECT_EQ(to_string(l), "step 1/40 loss 1.2500 mem 1.0 MiB of 1.0 GiB 2500 tokens/s lr 1.0e-03 epoch 0.50");
}

}  // namespace
}  // namespace tidemark::train
