#include "framework/train/peak_body.h"

#include <gtest/gtest.h>

namespace tidemark::train {
namespace {

using Runs = std::map<std::string, int64_t>;

constexpr int64_t kPage = 1000;

TEST(BodyRuns, OfAnEpochAndItsEvaluation) {
  EXPECT_EQ(body_runs({.global_batch = 32, .micro_batch = 32, .train_samples = 100, .eval_samples = 70}),
            (Runs{{"step[32]", 3}, {"step[4]", 1}, {"evaluate[32]", 2}, {"evaluate[6]", 1}}));
  EXPECT_EQ(body_runs({.global_batch = 32, .micro_batch = 12, .train_samples = 72}),
            (Runs{{"micro_batch[12]", 4}, {"micro_batch[8]", 3}, {"begin", 3}, {"update", 3}}));
  EXPECT_EQ(body_runs({.global_batch = 4, .micro_batch = 4, .train_samples = 8, .train_rows = 9}), Runs());
}

class PeakBody : public ::testing::Test {
 protected:
  // Three steps of 32, one of 4; body area bytes of each.
  std::string chosen(int64_t often_bytes, int64_t seldom_bytes) const {
    compile::Program program;
    for (const auto& [name, bytes] : {std::pair{"step[4]", seldom_bytes}, std::pair{"step[32]", often_bytes}}) {
      compile::Body& body = program.bodies.emplace_back();
      body.name = name;
      body.peak_bytes = bytes;
      body.live.resize(2);
      body.live[1][0] = bytes;
    }
    program.peak_body = seldom_bytes > often_bytes ? 0 : 1;
    choose_peak_body(program, {.global_batch = 32, .micro_batch = 32, .train_samples = 100}, kPage);
    EXPECT_EQ(program.peak_instruction, 1u);
    EXPECT_EQ(program.peak_categories[0], program.bodies[program.peak_body].peak_bytes);
    return program.bodies[program.peak_body].name;
  }
};

TEST_F(PeakBody, IsTheOneThatRunsMostOftenAmongThoseOfAsManyPages) { EXPECT_EQ(chosen(9001, 9999), "step[32]"); }

TEST_F(PeakBody, IsTheOneWithMorePages) {
  EXPECT_EQ(chosen(8999, 9001), "step[4]");
  EXPECT_EQ(chosen(9001, 8999), "step[32]");
}

}  // namespace
}  // namespace tidemark::train
