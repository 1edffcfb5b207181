#include "memory/budget/growth_verdict.h"

#include <gtest/gtest.h>

#include "memory/budget/testing/caching_workloads.h"

namespace tidemark::memory {
namespace {

constexpr int64_t kKiB = 1 << 10, kMiB = 1 << 20;

// A run that only caches: constant weights, a workload as activations, noise on the host.
std::vector<GrowthSample> calm_run(uint64_t seed, int64_t steps = 200) {
  Random random(seed);
  const auto workloads = caching_workloads();
  const auto cache = workloads[seed % workloads.size()].generate(random, steps);
  std::vector<GrowthSample> samples;
  for (double cached : cache) {
    GrowthSample sample;
    sample.allocated[static_cast<size_t>(Category::weights)] = 400 * kMiB;
    sample.allocated[static_cast<size_t>(Category::activations)] = static_cast<int64_t>(cached);
    sample.reserved_bytes = 600 * kMiB;
    sample.host_bytes = 100 * kMiB + static_cast<int64_t>(uniform(random, -1, 1) * kMiB);
    samples.push_back(sample);
  }
  return samples;
}

// Adds `bytes` a step to one figure.
template <class Figure>
std::vector<GrowthSample> leaking(std::vector<GrowthSample> samples, int64_t bytes, Figure figure) {
  for (size_t i = 0; i < samples.size(); ++i) figure(samples[i]) += bytes * static_cast<int64_t>(i);
  return samples;
}

TEST(GrowthVerdict, EveryCategoryIsFoundByNameBesideEveryWorkload) {
  for (uint64_t seed = 0; seed < 58; ++seed) {
    const auto category = static_cast<Category>(seed % kCategoryCount);
    if (category == Category::activations) continue;  // the workload's own
    const GrowthVerdict verdict = judge_growth(leaking(calm_run(seed), 64 * kKiB, [&](GrowthSample& s) -> int64_t& {
      return s.allocated[static_cast<size_t>(category)];
    }));
    EXPECT_TRUE(verdict.growing) << "seed " << seed;
    EXPECT_EQ(verdict.category, to_string(category)) << "seed " << seed;
    EXPECT_EQ(verdict.bytes_per_step, 64 * kKiB) << "seed " << seed;
    EXPECT_LE(verdict.first_step, 12) << "seed " << seed;
  }
}

TEST(GrowthVerdict, CachesAreStable) {
  for (uint64_t seed = 0; seed < 58; ++seed) {
    const GrowthVerdict verdict = judge_growth(calm_run(seed));
    EXPECT_FALSE(verdict.growing) << "seed " << seed << ": " << describe(verdict);
    EXPECT_EQ(verdict.category, "");
    EXPECT_EQ(verdict.bytes_per_step, 0);
  }
}

TEST(GrowthVerdict, HostMemoryIsFoundThroughItsNoise) {
  for (uint64_t seed = 0; seed < 58; ++seed) {
    const GrowthVerdict verdict =
        judge_growth(leaking(calm_run(seed), 64 * kKiB, [](GrowthSample& s) -> int64_t& { return s.host_bytes; }));
    EXPECT_EQ(verdict.category, "host") << "seed " << seed << ": " << describe(verdict);
    EXPECT_NEAR(static_cast<double>(verdict.bytes_per_step), 64 * kKiB, 8 * kKiB) << "seed " << seed;
  }
}

// Every step brings a new shape until 256 of them are kept, 140 KiB each.
std::vector<GrowthSample> run_of_shapes(int64_t steps, int64_t leak_bytes) {
  std::vector<GrowthSample> samples = calm_run(1, steps);
  for (size_t i = 0; i < samples.size(); ++i) {
    samples[i].host_cache_entries = std::min<int64_t>(256, static_cast<int64_t>(i));
    samples[i].host_bytes += 140 * kKiB * samples[i].host_cache_entries + leak_bytes * static_cast<int64_t>(i);
  }
  return samples;
}

TEST(GrowthVerdict, CacheThatCountsItsEntriesMayFill) {
  for (int64_t steps : {100, 150, 200, 256, 300, 400, 600})
    EXPECT_FALSE(judge_growth(run_of_shapes(steps, 0)).growing) << steps;
  auto undeclared = run_of_shapes(200, 0);
  for (GrowthSample& sample : undeclared) sample.host_cache_entries = 0;
  EXPECT_EQ(judge_growth(undeclared).category, "host") << "nobody said that it is a cache";
}

TEST(GrowthVerdict, LeakBesideSuchACacheShowsWhenItIsFull) {
  const GrowthVerdict verdict = judge_growth(run_of_shapes(600, 64 * kKiB));
  EXPECT_EQ(verdict.category, "host") << describe(verdict);
  EXPECT_NEAR(static_cast<double>(verdict.bytes_per_step), 64 * kKiB, 8 * kKiB);
}

TEST(GrowthVerdict, BytesOutsideTheBooksAreUnattributed) {
  const GrowthVerdict verdict =
      judge_growth(leaking(calm_run(1), 2 * kMiB, [](GrowthSample& s) -> int64_t& { return s.unattributed_bytes; }));
  EXPECT_EQ(verdict.category, "unattributed");
}

TEST(GrowthVerdict, ReservedIsNamedOnlyWhereNothingElseGrows) {
  const auto grows = leaking(calm_run(1), 2 * kMiB, [](GrowthSample& s) -> int64_t& { return s.reserved_bytes; });
  EXPECT_EQ(judge_growth(grows).category, "reserved");
  const GrowthVerdict both = judge_growth(leaking(grows, 64 * kKiB, [](GrowthSample& s) -> int64_t& {
    return s.allocated[static_cast<size_t>(Category::kv_cache)];
  }));
  EXPECT_EQ(both.category, "kv_cache") << "what lives in the reserved bytes is the cause";
}

TEST(GrowthVerdict, TheLargestRiseIsNamedAndTheOthersAreListed) {
  auto samples = leaking(calm_run(1), 64 * kKiB,
                         [](GrowthSample& s) -> int64_t& { return s.allocated[static_cast<size_t>(Category::user)]; });
  samples = leaking(samples, 512 * kKiB, [](GrowthSample& s) -> int64_t& { return s.host_bytes; });
  const GrowthVerdict verdict = judge_growth(samples);
  EXPECT_EQ(verdict.category, "host");
  EXPECT_NE(describe(verdict).find("user rises evenly to the end (64.0 KiB a step)"), std::string::npos)
      << describe(verdict);
}

TEST(GrowthVerdict, SaysWhatWouldHaveShown) {
  std::vector<GrowthSample> samples(200);
  EXPECT_EQ(describe(judge_growth(samples)),
            "stable over 200 steps: an even rise of 26 B a step in the books or of 12.8 KiB a step on the host would "
            "have shown");
  EXPECT_EQ(describe(judge_growth(std::span(samples).first(10))),
            "stable as far as 10 steps can tell: run more of them");
  const auto growing = leaking(samples, 64 * kKiB, [](GrowthSample& s) -> int64_t& {
    return s.allocated[static_cast<size_t>(Category::kv_cache)];
  });
  EXPECT_EQ(describe(judge_growth(growing)),
            "growing: kv_cache by 64.0 KiB a step since step 0 of 200 (confidence 1.0000)");
}

}  // namespace
}  // namespace tidemark::memory
