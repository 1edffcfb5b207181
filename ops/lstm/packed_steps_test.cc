#include "ops/lstm/packed_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace tidemark::ops {
namespace {

using Steps = std::vector<std::vector<int64_t>>;  // step, first row, samples, before, after

Steps steps_of(const std::vector<int32_t>& lengths, bool backwards) {
  const PackedLengths packed{lengths.data(), static_cast<int64_t>(lengths.size()),
                             std::accumulate(lengths.begin(), lengths.end(), int64_t{0})};
  packed.check();
  Steps steps;
  const auto note = [&](const PackedStep& s) { steps.push_back({s.step, s.first_row, s.samples, s.before, s.after}); };
  backwards ? packed.for_each_step_backwards(note) : packed.for_each_step(note);
  return steps;
}

TEST(PackedSteps, EveryStepHasTheSamplesThatAreLonger) {
  EXPECT_EQ(steps_of({4, 2, 2, 1}, false), (Steps{{0, 0, 4, 0, 3}, {1, 4, 3, 4, 1}, {2, 7, 1, 3, 1}, {3, 8, 1, 1, 0}}));
  EXPECT_EQ(steps_of({1, 1}, false), (Steps{{0, 0, 2, 0, 0}}));
  EXPECT_EQ(steps_of({2}, false), (Steps{{0, 0, 1, 0, 1}, {1, 1, 1, 1, 0}}));
}

TEST(PackedSteps, BackwardsAreTheSameFromTheEnd) {
  for (const std::vector<int32_t>& lengths :
       {std::vector<int32_t>{4, 2, 2, 1}, {1}, {1, 1, 1}, {7}, {3, 3, 3}, {9, 1, 1}, {5, 4, 3, 2, 1}}) {
    Steps backwards = steps_of(lengths, true);
    std::reverse(backwards.begin(), backwards.end());
    EXPECT_EQ(backwards, steps_of(lengths, false));
  }
}

TEST(PackedSteps, WrongLengthsAreRefused) {
  const auto check = [](std::vector<int32_t> lengths, int64_t rows) {
    PackedLengths{lengths.data(), static_cast<int64_t>(lengths.size()), rows}.check();
  };
  check({3, 1}, 4);
  EXPECT_DEATH(check({3, 1}, 5), "add up to the rows");
  EXPECT_DEATH(check({1, 3}, 4), "longest first");
  EXPECT_DEATH(check({4, 0}, 4), "longest first");
}

}  // namespace
}  // namespace tidemark::ops
