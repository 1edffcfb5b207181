#include "memory/recompute/arena_loosen.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "memory/recompute/search/fullness.h"

namespace tidemark::memory {
namespace {

using recompute::Problem;
using recompute::Random;
using recompute::Run;

constexpr double kFullShare = 0.9;  // of Plan::fullness

// In units of one full stage.
constexpr double kHot = 0.1;
constexpr double kCold = 0.01;
constexpr double kAboveBudget = 500;   // of the whole budget's bytes above it
constexpr double kAboveCost = 10'000;  // of the whole trace's cost above the limit

// Shares of the moves; what is left over adds runs.
constexpr double kShifts = 0.35;
constexpr double kDrops = 0.07;
constexpr double kGaps = 0.75;      // of the added runs; the others are anywhere
constexpr double kExchanges = 0.7;  // of the added runs: another run goes for it
constexpr int kGapTries = 40;

}  // namespace

Loosener::Loosener(const Problem& problem, double budget_bytes)
    : problem_(problem), budget_(budget_bytes), state_(problem, budget_bytes), moves_(problem, state_, random_) {}

Loosener::Plan Loosener::plan_with(std::vector<Run> runs) {
  state_.assign(runs);
  return {std::move(runs), state_.extra_cost(), fullness(state_, kFullShare)};
}

Loosener::Plan Loosener::plan_of(const std::vector<int32_t>& steps) {
  const std::vector<int32_t> stages = recompute::stages_of(problem_, steps);
  std::vector<Run> runs;
  for (size_t i = 0; i < steps.size(); ++i) {
    const int32_t step = steps[i] + problem_.first_step;
    if (stages[i] == problem_.step_count - 1) break;  // runs behind the last step are of no use
    if (step != stages[i]) runs.push_back({stages[i], step});
  }
  std::sort(runs.begin(), runs.end());
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
  return plan_with(std::move(runs));
}

std::vector<int32_t> Loosener::steps_of(const Plan& plan) {
  state_.assign(plan.runs);
  return state_.sequence();
}

Loosener::Energy Loosener::energy(const LooseningOptions& options) const {
  const double dear = std::max(0.0, state_.extra_cost() - options.extra_cost_limit);
  return {fullness(state_, options.full_share) + kAboveBudget * state_.excess() / budget_ +
              kAboveCost * dear / std::max(1.0, problem_.total_cost),
          state_.fits() && dear == 0};
}

// A value that is not read in a full stage, but later: made again there, its bytes are free in between.
void Loosener::fill_gap(double full_share) {
  const double full = full_bytes(state_, full_share);
  for (int i = 0; i < kGapTries && problem_.value_count() > 0; ++i) {
    const auto stage = static_cast<int32_t>(1 + random_.below(problem_.step_count - 1));
    if (state_.stage_bytes(stage) <= full) continue;
    const auto value = static_cast<int32_t>(random_.below(problem_.value_count()));
    if (moves_.make_idle_again(value, stage)) return;
  }
}

void Loosener::propose(double full_share) {
  const double kind = random_.unit();
  if (kind < kShifts) return moves_.shift_any();
  if (kind < kShifts + kDrops) return moves_.drop_any();
  random_.unit() < kGaps ? fill_gap(full_share) : moves_.add_any();
  if (!state_.journal().empty() && random_.unit() < kExchanges) moves_.drop_any();
}

Loosener::Plan Loosener::loosen(const Plan& start, const LooseningOptions& options) {
  // Neighbouring seeds of a Random give one row of numbers, shifted.
  random_ = Random(Random(options.seed).next());
  moves_.start(start.runs);
  Energy now = energy(options);
  double least = now.is_within ? now.value : std::numeric_limits<double>::infinity();
  std::vector<Run> best = start.runs;
  double temperature = kHot;
  const double cooling = std::pow(kCold / kHot, 1 / static_cast<double>(std::max<int64_t>(options.moves, 1)));
  for (int64_t i = 0; i < options.moves && problem_.step_count > 1; ++i, temperature *= cooling) {
    propose(options.full_share);
    if (state_.journal().empty()) continue;
    state_.settle();
    const Energy then = energy(options);
    if (then.value > now.value && random_.unit() >= std::exp((now.value - then.value) / temperature)) {
      state_.undo_to(0);
      continue;
    }
    moves_.accept();
    now = then;
    if (!now.is_within || now.value >= least) continue;
    least = now.value;
    best = moves_.runs();
  }
  std::sort(best.begin(), best.end());
  return plan_with(std::move(best));
}

}  // namespace tidemark::memory
