#include "framework/train/peak_body.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace tidemark::train {
namespace {

using Runs = std::map<std::string, int64_t>;

constexpr int64_t kPage = 1000;

TEST(BodyRuns, OfAnEpochAndItsEvaluation) {
  EXPECT_EQ(body_runs({.global_batch = 32, .micro_batch = 32, .train_samples = 100, .eval_samples = 70}),
            (Runs{{"step[32]", 3}, {"step[4]", 1}, {"evaluate[32]", 2}, {"evaluate[6]", 1}}));
  EXPECT_EQ(body_runs({.global_batch = 32, .micro_batch = 12, .train_samples = 72}),
            (Runs{{"micro_batch[12]", 4}, {"micro_batch[8]", 3}, {"begin", 3}, {"update", 3}}));
  EXPECT_EQ(body_runs({.global_batch = 32, .micro_batch = 16, .train_samples = 64}),
            (Runs{{"micro_batch[16]", 4}, {"begin", 2}, {"update", 2}}));
  EXPECT_EQ(body_runs({.global_batch = 32, .micro_batch = 32, .train_samples = 20}), (Runs{{"step[20]", 1}}));
  EXPECT_EQ(body_runs({.global_batch = 4, .micro_batch = 4, .train_samples = 8, .train_rows = 9}), Runs());
}

class PeakBody : public ::testing::Test {
 protected:
  // From bodies with these peaks, in bytes.
  std::string chosen(const std::vector<std::pair<std::string, int64_t>>& bodies, const BatchPlan& batch) const {
    compile::Program program;
    for (const auto& [name, bytes] : bodies) {
      compile::Body& body = program.bodies.emplace_back();
      body.name = name;
      body.peak_bytes = bytes;
      body.live.resize(2);
      body.live[1][0] = bytes;
    }
    const auto most = std::ranges::max_element(program.bodies, {}, &compile::Body::peak_bytes);
    program.peak_body = static_cast<size_t>(most - program.bodies.begin());
    choose_peak_body(program, batch, kPage);
    EXPECT_EQ(program.peak_instruction, 1u);
    EXPECT_EQ(program.peak_categories[0], program.bodies[program.peak_body].peak_bytes);
    return program.bodies[program.peak_body].name;
  }

  // Three steps of 32, one of 4.
  std::string chosen(int64_t often_bytes, int64_t seldom_bytes) const {
    return chosen({{"step[4]", seldom_bytes}, {"step[32]", often_bytes}},
                  {.global_batch = 32, .micro_batch = 32, .train_samples = 100});
  }
};

TEST_F(PeakBody, IsTheOneThatRunsMostOftenAmongThoseOfAsManyPages) { EXPECT_EQ(chosen(9001, 9999), "step[32]"); }

TEST_F(PeakBody, IsTheOneWithMorePages) {
  EXPECT_EQ(chosen(8999, 9001), "step[4]");
  EXPECT_EQ(chosen(9001, 8999), "step[32]");
}

TEST_F(PeakBody, IsOfEqualsTheOneWithTheMostBytes) {
  EXPECT_EQ(chosen({{"evaluate[4]", 9999}, {"micro_batch[3]", 9800}, {"micro_batch[2]", 9900}},
                   {.global_batch = 5, .micro_batch = 3, .train_samples = 5}),
            "micro_batch[2]");
}

}  // namespace
}  // namespace tidemark::train
