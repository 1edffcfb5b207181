#include "memory/arena/portfolio_planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>

#include "memory/arena/exhaustive_search.h"
#include "memory/trace/random_trace.h"

namespace tidemark::memory {
namespace {

// Random buffers that fill every step up to at most `height`: the least peak is often above max live.
Trace tight_trace(uint64_t seed, int buffers, int64_t steps, int64_t height) {
  std::mt19937_64 random(seed);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
  Trace trace{"tight trace of seed " + std::to_string(seed), {}};
  std::vector<int64_t> load(steps);
  for (int tries = 0; tries < 400 && static_cast<int>(trace.buffers.size()) < buffers; ++tries) {
    const int64_t begin = below(steps), end = std::min(steps, begin + 1 + below(below(3) == 0 ? steps : 3));
    const int64_t room = height - *std::max_element(load.begin() + begin, load.begin() + end);
    if (room == 0) continue;
    const int64_t bytes = below(3) == 0 ? room : std::min(room, 1 + below(height / 2));
    for (int64_t step = begin; step < end; ++step) load[step] += bytes;
    trace.buffers.push_back(Buffer{static_cast<int64_t>(trace.buffers.size()), bytes, 1, {{begin, end}}});
  }
  return trace;
}

TEST(PortfolioPlanner, ProofsOfInfeasibilityAgreeWithAnExhaustiveSearch) {
  const PortfolioPlanner planner;
  int above_live = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Trace trace = tight_trace(seed, 12, 7, 20);
    const OffsetPlan plan = planner.minimize(trace, {});
    ASSERT_TRUE(plan.proven_optimal);
    if (plan.peak_bytes == max_live_bytes(trace)) continue;
    ++above_live;
    EXPECT_FALSE(exhaustive_fits(trace, plan.peak_bytes - 1));
    EXPECT_EQ(planner.fit(trace, plan.peak_bytes, {}).fit, Fit::fits);
    EXPECT_EQ(planner.fit(trace, plan.peak_bytes - 1, {}).fit, Fit::impossible);
  }
  // Otherwise the test would show nothing that max live does not.
  EXPECT_GE(above_live, 5);
}

TEST(PortfolioPlanner, SolvesSmallTracesWithEveryFeature) {
  const PortfolioPlanner planner;
  int solved = 0, all = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed, ++all) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Trace trace = random_trace({seed, 6, 6, 20, 40, 40, 25, 0});
    const OffsetPlan plan = planner.minimize(trace, {});
    EXPECT_EQ(find_plan_fault(trace, plan), "");
    EXPECT_TRUE(plan.proven_optimal);
    solved += plan.peak_bytes == exhaustive_least_peak(trace);
  }
  EXPECT_EQ(solved, all);
}

// Merged groups are a restriction: what is lost must stay rare, and is never claimed as a proof.
TEST(PortfolioPlanner, AliasGroupsAreNearlyAlwaysOptimal) {
  const PortfolioPlanner planner;
  int optimal = 0, all = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed, ++all) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Trace trace = random_trace({seed, 6, 6, 3, 0, 0, 0, 70});
    const OffsetPlan plan = planner.minimize(trace, {seed, 20'000});
    const int64_t least = exhaustive_least_peak(trace);
    EXPECT_TRUE(!plan.proven_optimal || plan.peak_bytes == least);
    optimal += plan.peak_bytes == least;
  }
  EXPECT_GE(optimal, all * 95 / 100);
}

TEST(PortfolioPlanner, ProvenOptimaAreTheSameForwardsAndBackwardsInTime) {
  const PortfolioPlanner planner;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Trace trace = tight_trace(seed, 20, 12, 64);
    const OffsetPlan plan = planner.minimize(trace, {});
    ASSERT_TRUE(plan.proven_optimal);
    for (Buffer& buffer : trace.buffers) {
      buffer.id = -buffer.id;
      buffer.intervals = {{12 - buffer.intervals[0].end, 12 - buffer.intervals[0].begin}};
    }
    std::reverse(trace.buffers.begin(), trace.buffers.end());
    const OffsetPlan mirrored = planner.minimize(trace, {});
    EXPECT_EQ(mirrored.peak_bytes, plan.peak_bytes);
    EXPECT_TRUE(mirrored.proven_optimal);
    // No worse after removing a buffer.
    trace.buffers.pop_back();
    EXPECT_LE(planner.minimize(trace, {}).peak_bytes, plan.peak_bytes);
  }
}

// The topmost buffer's padding costs nothing: 100 bytes at offset 64 end at 164.
TEST(PortfolioPlanner, CountsTrueBytesAtTheTop) {
  const Trace trace{"t", {Buffer{1, 64, 64, {{0, 2}}}, Buffer{2, 100, 64, {{1, 3}}}}};
  const PortfolioPlanner planner;
  const OffsetPlan plan = planner.minimize(trace, {});
  EXPECT_EQ(plan.peak_bytes, 164);
  EXPECT_TRUE(plan.proven_optimal);
  EXPECT_EQ(planner.fit(trace, 164, {}).fit, Fit::fits);
  EXPECT_EQ(planner.fit(trace, 163, {}).fit, Fit::impossible);
}

TEST(PortfolioPlanner, PartsInTimeArePlannedApart) {
  Trace trace{"parts", {}};
  for (int64_t part = 0; part < 50; ++part) {
    for (Buffer buffer : tight_trace(part + 1, 16, 8, 64).buffers) {
      buffer.id = static_cast<int64_t>(trace.buffers.size());
      buffer.intervals = {{buffer.intervals[0].begin + 8 * part, buffer.intervals[0].end + 8 * part}};
      trace.buffers.push_back(buffer);
    }
  }
  const OffsetPlan plan = PortfolioPlanner().minimize(trace, {});
  EXPECT_EQ(find_plan_fault(trace, plan), "");
  EXPECT_TRUE(plan.proven_optimal);
}

Buffer aligned(int64_t id, Interval life, int64_t bytes, int64_t alignment, std::optional<int64_t> group = {}) {
  Buffer buffer{id, bytes, alignment, {life}};
  buffer.alias_group = group;
  return buffer;
}

// Where bytes are rounded to a unit or shared, an exhausted search proves nothing, but it must not be run again either.
TEST(PortfolioPlanner, AnExhaustedSearchIsNotRepeated) {
  Trace small{"alias and alignment",
              {aligned(0, {0, 2}, 1, 64), aligned(1, {0, 2}, 1, 64), aligned(2, {0, 2}, 1, 1, 7),
               aligned(3, {1, 3}, 3, 1, 7), aligned(4, {0, 3}, 1, 64)}};
  const OffsetPlan plan = PortfolioPlanner().minimize(small, {});
  EXPECT_EQ(find_plan_fault(small, plan), "");
  EXPECT_LT(plan.work, 2'000'000);

  Trace larger{"twelve and one", {}};
  for (int64_t i = 0; i < 12; ++i)
    larger.buffers.push_back(
        aligned(i, {0, 2}, 1, i % 2 == 0 ? 1 : 64, i < 2 ? std::optional<int64_t>(7) : std::nullopt));
  larger.buffers.push_back(aligned(12, {1, 3}, 3, 1, 7));
  EXPECT_EQ(find_plan_fault(larger, PortfolioPlanner().minimize(larger, {.work_limit = 200'000})), "");
}

TEST(PortfolioPlanner, ACoreWithoutBuffersIsNotWaitedFor) {
  Trace trace{"one large and many small", {aligned(0, {0, 1}, 30'000, 1)}};
  for (int64_t i = 1; i <= 1000; ++i) trace.buffers.push_back(aligned(i, {1, 3}, 1, i % 2 == 0 ? 1 : 64));
  EXPECT_EQ(find_plan_fault(trace, PortfolioPlanner().minimize(trace, {.work_limit = 200'000})), "");
}

TEST(PortfolioPlanner, StopsNearTheWorkLimit) {
  const Trace trace = tight_trace(3, 200, 120, 4001);
  OffsetPlannerOptions options;
  options.work_limit = 50'000;
  const OffsetPlan plan = PortfolioPlanner().minimize(trace, options);
  EXPECT_EQ(find_plan_fault(trace, plan), "");
  EXPECT_LT(plan.work, 120'000);
}

}  // namespace
}  // namespace tidemark::memory
