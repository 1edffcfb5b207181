#include "memory/recompute/search/checkpoint_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "memory/recompute/random_step_trace.h"

namespace tidemark::memory::recompute {
namespace {

constexpr int64_t kWork = 20'000'000;
constexpr CheckpointRule kRules[] = {CheckpointRule::peaks_of_plain_order, CheckpointRule::step_peaks,
                                     CheckpointRule::step_peaks_after_worst};

StepTrace training_step(uint64_t seed) {
  RandomStepTraceOptions options;
  options.seed = seed;
  options.steps = 120;
  return random_step_trace(options);
}

double tight_budget(const StepTrace& trace) {
  return std::floor(0.3 * static_cast<double>(plain_peak(trace).bytes - trace.fixed_bytes)) +
         static_cast<double>(trace.fixed_bytes);
}

TEST(CheckpointProgram, ALaterStageNeverTakesAwayFromTheWorst) {
  int more = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const StepTrace trace = training_step(seed);
    const Problem problem(trace);
    const double budget = tight_budget(trace);
    const PlanState plain(problem, budget);
    const double scale = problem.total_cost / problem.step_count;
    const auto bound = [&](const std::vector<int32_t>& stages) {
      return dual_bound(make_checkpoint_program(problem, budget, stages, scale), kWork, 1e300);
    };
    const int32_t worst = choose_checkpoints(plain, 1, CheckpointRule::step_peaks).front();
    const double one = bound({worst});
    for (int32_t later = worst + 1; later < problem.step_count; later += 4) {
      const double two = bound({worst, later});
      EXPECT_GE(two, 0.999 * one) << "with stage " << later;
      more += two > 1.01 * one ? 1 : 0;
    }
  }
  EXPECT_GE(more, 5);
}

TEST(CheckpointProgram, ChoosesTheWorstStageAndOthersAboveTheBudget) {
  const StepTrace trace = training_step(1);
  const Problem problem(trace);
  const PlanState plain(problem, tight_budget(trace));
  const std::vector<double>& bytes = plain.stage_bytes();
  const auto worst = static_cast<int32_t>(std::max_element(bytes.begin(), bytes.end()) - bytes.begin());
  for (CheckpointRule rule : kRules)
    for (int count : {1, 2, 3, 6, 1000}) {
      const std::vector<int32_t> stages = choose_checkpoints(plain, count, rule);
      EXPECT_LE(stages.size(), static_cast<size_t>(count));
      EXPECT_TRUE(std::is_sorted(stages.begin(), stages.end()));
      EXPECT_EQ(std::adjacent_find(stages.begin(), stages.end()), stages.end());
      EXPECT_TRUE(std::binary_search(stages.begin(), stages.end(), worst));
      for (int32_t t : stages) EXPECT_GT(bytes[t], plain.budget_bytes());
    }
  const PlanState roomy(problem, bytes[worst]);
  EXPECT_TRUE(choose_checkpoints(roomy, 6, CheckpointRule::step_peaks).empty());
}

}  // namespace
}  // namespace tidemark::memory::recompute
