// Real leaks in a program that caches: each is found within 200 steps with its category named, and the same program
// without it is stable.
#include <gtest/gtest.h>

#include "device/host_memory.h"
#include "tests/leaks/leaking_program.h"

namespace tidemark::tests {
namespace {

constexpr int64_t kSteps = 200;

class Leaks : public ::testing::TestWithParam<Leak> {
 protected:
  HostMemory device_;
};

TEST_P(Leaks, AreFoundAndNamed) {
  const auto samples = run_program(device_, GetParam(), kSteps);
  const memory::GrowthVerdict verdict = memory::judge_growth(samples);
  EXPECT_EQ(verdict.growing, GetParam() != Leak::none) << describe(verdict);
  EXPECT_EQ(verdict.category, category_of(GetParam())) << describe(verdict);
  if (!verdict.growing) return;
  const double leaked = GetParam() == Leak::communicator ? 512 << 10 : 64 << 10;  // a page every fourth step
  EXPECT_NEAR(static_cast<double>(verdict.bytes_per_step), leaked, leaked / 8) << describe(verdict);
  EXPECT_LE(verdict.first_step, 60) << describe(verdict);
  EXPECT_GT(verdict.confidence, 0.999);
}

std::string name_of(const ::testing::TestParamInfo<Leak>& info) {
  constexpr const char* kNames[] = {"None",       "UnreleasedBlock", "EndlessCache", "RetainedSession",
                                    "HostMemory", "Communicator"};
  return kNames[static_cast<size_t>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(All, Leaks,
                         ::testing::Values(Leak::none, Leak::unreleased_block, Leak::endless_cache,
                                           Leak::retained_session, Leak::host_memory, Leak::communicator),
                         name_of);

TEST(CalmProgram, IsStableAtEveryLength) {
  HostMemory device;
  const auto samples = run_program(device, Leak::none, 400);
  for (size_t steps : {100, 150, 200, 300, 400}) {
    const memory::GrowthVerdict verdict = memory::judge_growth(std::span(samples).first(steps));
    EXPECT_FALSE(verdict.growing) << steps << " steps: " << describe(verdict);
  }
}

}  // namespace
}  // namespace tidemark::tests
