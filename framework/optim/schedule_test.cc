#include "framework/optim/schedule.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tidemark::optim {
namespace {

TEST(Schedule, ConstantStays) {
  const Schedule s{.kind = "constant", .lr = 0.5, .total_steps = 10};
  EXPECT_EQ(s.at(0), 0.5);
  EXPECT_EQ(s.at(1000), 0.5);
}

TEST(Schedule, WarmupIsLinearAndEndsAtTheHighest) {
  const Schedule s{.kind = "cosine", .lr = 1.0, .warmup_steps = 4, .total_steps = 100};
  EXPECT_DOUBLE_EQ(s.at(0), 0.25);
  EXPECT_DOUBLE_EQ(s.at(3), 1.0);
  EXPECT_DOUBLE_EQ(s.at(4), 1.0);
}

TEST(Schedule, LinearAndCosineArriveAtTheMinimumAndStay) {
  for (const char* kind : {"linear", "cosine"}) {
    const Schedule s{.kind = kind, .lr = 1.0, .min_lr = 0.1, .total_steps = 50};
    EXPECT_DOUBLE_EQ(s.at(0), 1.0) << kind;
    EXPECT_NEAR(s.at(25), 0.55, 1e-12) << kind;
    EXPECT_NEAR(s.at(50), 0.1, 1e-12) << kind;
    EXPECT_NEAR(s.at(500), 0.1, 1e-12) << kind;
    for (int step = 1; step <= 50; ++step) EXPECT_LT(s.at(step), s.at(step - 1)) << kind << " step " << step;
  }
}

TEST(Schedule, UnknownKindNamesTheKnownOnes) {
  const Schedule s{.kind = "cosin"};
  try {
    s.at(0);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::config);
    EXPECT_NE(std::string(error.what()).find("cosine"), std::string::npos);
  }
}

}  // namespace
}  // namespace tidemark::optim
