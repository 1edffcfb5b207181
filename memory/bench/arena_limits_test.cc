// Instances with known optima, held to limits of the kind that the benchmark's figures have. Times are CPU time of one
// thread with a factor of about ten for slow and busy machines; work is the same everywhere and is held tightly.
#include <gtest/gtest.h>

#include <filesystem>

#include "memory/arena/offset_planner.h"
#include "memory/bench/arena_bench.h"
#include "memory/bench/step_generator.h"
#include "memory/trace/trace_csv.h"

namespace tidemark::memory {
namespace {

// name.OPTIMUM.csv. packing*: generate_perfect_packing. above_live*: optimum above max live, proven by exhaustion of
// the search (portfolio_planner_test.cc holds such proofs against a plain exhaustive search). features*: gaps,
// alignment, fixed offsets and alias groups.
struct Instance {
  std::string path;
  int64_t optimum_bytes = 0;
};

std::vector<Instance> committed_instances() {
  std::vector<Instance> instances;
  for (const auto& entry : std::filesystem::directory_iterator("memory/bench/instances")) {
    const std::string stem = entry.path().stem();
    instances.push_back({entry.path(), std::stoll(stem.substr(stem.find('.') + 1))});
  }
  return instances;
}

TEST(ArenaLimits, CommittedInstancesAreSolvedToTheirOptimum) {
  const std::vector<Instance> instances = committed_instances();
  ASSERT_GE(instances.size(), 13u);
  for (const Instance& instance : instances) {
    SCOPED_TRACE(instance.path);
    ArenaBenchOptions options;
    options.variants = 4;
    const ArenaBenchRow row = bench_trace(read_csv_file(instance.path), options);
    EXPECT_EQ(row.peak_bytes, instance.optimum_bytes);
    EXPECT_EQ(row.worst_peak_bytes, instance.optimum_bytes);
    EXPECT_EQ(row.variants_solved, 4);
    EXPECT_LT(row.cpu_seconds, 0.5);
  }
}

TEST(ArenaLimits, CommittedInstancesAreImpossibleBelowTheirOptimum) {
  for (const Instance& instance : committed_instances()) {
    SCOPED_TRACE(instance.path);
    const FitResult below =
        make_offset_planner("portfolio")->fit(read_csv_file(instance.path), instance.optimum_bytes - 1, {});
    EXPECT_EQ(below.fit, Fit::impossible);
  }
}

TEST(ArenaLimits, PerfectPackingsAreFoundQuickly) {
  int solved = 0, all = 0;
  for (int buffers : {20, 40, 80}) {
    for (uint64_t seed = 1; seed <= 10; ++seed, ++all) {
      SCOPED_TRACE(std::to_string(buffers) + " buffers, seed " + std::to_string(seed));
      ArenaBenchOptions options;
      options.work_limit = 2'000'000;
      const ArenaBenchRow row = bench_trace(generate_perfect_packing({seed, buffers, 64, 1000}), options);
      solved += row.proven_optimal;
      EXPECT_LE(row.peak_bytes, 1100);
      EXPECT_LT(row.cpu_seconds, 2.5);
    }
  }
  // The least that an earlier version reached, so that a loss shows.
  EXPECT_GE(solved, all - 1);
}

TEST(ArenaLimits, ALargeStepIsPlannedNearTheBound) {
  StepOptions step;
  step.buffers = 60'000;
  ArenaBenchOptions options;
  options.check = false;  // O(n^2); smaller steps are checked below
  const ArenaBenchRow row = bench_trace(generate_step(step), options);
  EXPECT_LE(static_cast<double>(row.peak_bytes), 1.005 * static_cast<double>(row.lower_bound_bytes));
  EXPECT_LT(row.cpu_seconds, 8);
}

TEST(ArenaLimits, StepsOfEverySizeHaveValidPlansNearTheBound) {
  for (int64_t buffers : {200, 1000, 4000}) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE(std::to_string(buffers) + " buffers, seed " + std::to_string(seed));
      StepOptions step;
      step.buffers = buffers;
      step.seed = seed;
      const ArenaBenchRow row = bench_trace(generate_step(step), {});
      EXPECT_LE(static_cast<double>(row.peak_bytes), 1.005 * static_cast<double>(row.lower_bound_bytes));
    }
  }
}

// What holds for every proven optimum.
TEST(ArenaLimits, ProvenOptimaKeepUnderRemovalAndVariants) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Trace trace = generate_perfect_packing({seed, 30, 40, 700});
    const auto planner = make_offset_planner("portfolio");
    const OffsetPlan whole = planner->minimize(trace, {});
    ASSERT_TRUE(whole.proven_optimal);
    trace.buffers.erase(trace.buffers.begin() + static_cast<int64_t>(seed));
    const OffsetPlan smaller = planner->minimize(trace, {});
    EXPECT_LE(smaller.lower_bound_bytes, whole.peak_bytes);
    EXPECT_TRUE(!smaller.proven_optimal || smaller.peak_bytes <= whole.peak_bytes);
  }
}

}  // namespace
}  // namespace tidemark::memory
