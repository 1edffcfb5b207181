// Every planner of the list is held to the same rules; a new one joins by its line in planner_list.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/error.h"
#include "memory/arena/exhaustive_search.h"
#include "memory/arena/offset_planner.h"
#include "memory/trace/random_trace.h"

namespace tidemark::memory {
namespace {

OffsetPlannerOptions small_effort() {
  OffsetPlannerOptions options;
  options.work_limit = 200'000;
  return options;
}

// Plain, one feature each, and all together.
std::vector<RandomTraceOptions> trace_kinds(uint64_t seed, int buffers, int64_t max_bytes) {
  const RandomTraceOptions plain{seed, buffers, buffers, max_bytes, 0, 0, 0, 0};
  std::vector<RandomTraceOptions> kinds(6, plain);
  kinds[1].gaps_percent = 50;
  kinds[2].alignment_percent = 50;
  kinds[3].fixed_percent = 30;
  kinds[4].alias_percent = 50;
  kinds[5] = {seed, buffers, buffers, max_bytes, 30, 30, 20, 30};
  return kinds;
}

// Every buffer aligned to `bytes` or more: planners may then count in units of it.
void align_all(Trace& trace, int64_t bytes) {
  for (Buffer& buffer : trace.buffers) {
    buffer.alignment *= bytes;
    if (buffer.fixed_offset) *buffer.fixed_offset *= bytes;
  }
}

std::string describe(const RandomTraceOptions& o) {
  return "seed " + std::to_string(o.seed) + ", buffers " + std::to_string(o.buffers) + ", gaps " +
         std::to_string(o.gaps_percent) + " %, alignment " + std::to_string(o.alignment_percent) + " %, fixed " +
         std::to_string(o.fixed_percent) + " %, alias " + std::to_string(o.alias_percent) + " %";
}

class PlannerConformance : public testing::TestWithParam<std::string> {
 protected:
  const std::unique_ptr<OffsetPlanner> planner_ = make_offset_planner(GetParam());
};

TEST_P(PlannerConformance, PlansOfRandomTracesAreValid) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    for (int buffers : {1, 2, 8, 60}) {
      for (const RandomTraceOptions& kind : trace_kinds(seed, buffers, 1000)) {
        SCOPED_TRACE(describe(kind));
        const Trace trace = random_trace(kind);
        const OffsetPlan plan = planner_->minimize(trace, small_effort());
        ASSERT_EQ(find_plan_fault(trace, plan), "");
        EXPECT_GE(plan.peak_bytes, max_live_bytes(trace));
      }
    }
  }
}

TEST_P(PlannerConformance, NeverBelowTheLeastPeakAndProofsAreTrue) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    for (const RandomTraceOptions& kind : trace_kinds(seed, 6, 20)) {
      for (const int64_t common_alignment : {1, 8}) {
        SCOPED_TRACE(describe(kind) + ", all aligned to " + std::to_string(common_alignment));
        Trace trace = random_trace(kind);
        align_all(trace, common_alignment);
        const int64_t least = exhaustive_least_peak(trace);
        const OffsetPlan plan = planner_->minimize(trace, small_effort());
        ASSERT_EQ(find_plan_fault(trace, plan), "");
        EXPECT_GE(plan.peak_bytes, least);
        EXPECT_LE(plan.lower_bound_bytes, least);
        EXPECT_TRUE(!plan.proven_optimal || plan.peak_bytes == least);
      }
    }
  }
}

TEST_P(PlannerConformance, FitAgreesWithTheLeastPeak) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    for (const RandomTraceOptions& kind : trace_kinds(seed, 6, 12)) {
      SCOPED_TRACE(describe(kind));
      const Trace trace = random_trace(kind);
      const int64_t least = exhaustive_least_peak(trace);
      const FitResult at_least = planner_->fit(trace, least, small_effort());
      EXPECT_NE(at_least.fit, Fit::impossible);
      EXPECT_TRUE(at_least.fit != Fit::fits || find_plan_fault(trace, at_least.plan).empty());
      int64_t largest = 0;
      for (const Buffer& buffer : trace.buffers) largest = std::max(largest, buffer.bytes);
      if (least == largest) continue;
      const FitResult below = planner_->fit(trace, least - 1, small_effort());
      EXPECT_NE(below.fit, Fit::fits);
      EXPECT_TRUE(below.plan.offsets.empty());
    }
  }
}

TEST_P(PlannerConformance, SameInputGivesTheSamePlan) {
  const Trace trace = random_trace({5, 80, 60, 500, 20, 20, 10, 20});
  const OffsetPlan first = planner_->minimize(trace, small_effort());
  const OffsetPlan second = planner_->minimize(trace, small_effort());
  EXPECT_EQ(first.offsets, second.offsets);
  EXPECT_EQ(first.work, second.work);
}

TEST_P(PlannerConformance, EmptyTraceHasAnEmptyPlan) {
  const OffsetPlan plan = planner_->minimize(Trace{"empty", {}}, small_effort());
  EXPECT_TRUE(plan.offsets.empty());
  EXPECT_EQ(plan.peak_bytes, 0);
  EXPECT_TRUE(plan.proven_optimal);
  EXPECT_EQ(planner_->fit(Trace{"empty", {}}, 0, small_effort()).fit, Fit::fits);
}

TEST_P(PlannerConformance, HandlesBytesNearTheLimit) {
  Trace trace = random_trace({3, 6, 6, 4, 0, 0, 0, 0});
  const int64_t least = exhaustive_least_peak(trace);
  for (Buffer& buffer : trace.buffers) buffer.bytes <<= 56;
  const OffsetPlan plan = planner_->minimize(trace, small_effort());
  EXPECT_EQ(find_plan_fault(trace, plan), "");
  EXPECT_GE(plan.peak_bytes, least << 56);
}

TEST_P(PlannerConformance, BadTracesAreRefused) {
  Trace trace = random_trace({1, 4, 4, 10, 0, 0, 0, 0});
  trace.buffers[2].bytes = -3;
  EXPECT_THROW(planner_->minimize(trace, small_effort()), Error);
  EXPECT_THROW(planner_->fit(trace, 100, small_effort()), Error);
}

TEST_P(PlannerConformance, CapacityBelowOneBufferIsAConfigError) {
  const Trace trace{"t", {Buffer{42, 100, 1, {{0, 1}}}}};
  try {
    planner_->fit(trace, 99, small_effort());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::config);
    EXPECT_STREQ(error.what(), "t: buffer 42 has 100 bytes, the capacity is 99");
  }
  EXPECT_EQ(planner_->fit(trace, 100, small_effort()).fit, Fit::fits);
}

std::vector<std::string> planner_names() {
  std::vector<std::string> names;
  for (const auto& planner : all_offset_planners()) names.emplace_back(planner->name());
  return names;
}

INSTANTIATE_TEST_SUITE_P(AllPlanners, PlannerConformance, testing::ValuesIn(planner_names()),
                         [](const auto& info) { return info.param; });

TEST(PlannerList, NamesAreUniqueAndTheRecommendedIsFirst) {
  std::vector<std::string> names = planner_names();
  EXPECT_EQ(names.front(), "portfolio");
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(PlannerList, UnknownNameListsTheKnown) {
  try {
    make_offset_planner("magic");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::config);
    EXPECT_NE(std::string(error.what()).find("no offset planner 'magic'; known are portfolio, "), std::string::npos);
  }
}

}  // namespace
}  // namespace tidemark::memory
