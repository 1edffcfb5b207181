#include "memory/recompute/arena_loosen.h"

#include <algorithm>
#include <cmath>
#include <limits>

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
constexpr double kGaps = 0.75;       // of the added runs; the others are anywhere
constexpr double kExchanges = 0.7;   // of the added runs: another run goes for it
constexpr double kCompanions = 0.3;  // of the shifts: a run of the same stage goes along
constexpr double kInputsToo = 0.3;   // of the inputs that are gone
constexpr int32_t kNear = 3;         // stages; half of the shifts
constexpr int32_t kFar = 30;
constexpr int kGapTries = 40;
constexpr size_t kLongestChain = 8;

}  // namespace

Loosener::Loosener(const Problem& problem, double budget_bytes)
    : problem_(problem), budget_(budget_bytes), state_(problem, budget_bytes) {}

Loosener::Plan Loosener::plan_with(std::vector<Run> runs) {
  state_.assign(runs);
  return {std::move(runs), state_.extra_cost(), sum_of_cubes(kFullShare)};
}

Loosener::Plan Loosener::plan_of(const std::vector<int32_t>& steps) {
  std::vector<Run> runs;
  size_t waiting = 0;  // from here on: runs whose stage is that of the next first run
  int32_t next = 0;
  for (int32_t step : steps) {
    if (step != next) {
      runs.push_back({0, step + problem_.first_step});
      continue;
    }
    for (; waiting < runs.size(); ++waiting) runs[waiting].stage = step + problem_.first_step;
    ++next;
  }
  runs.resize(waiting);  // runs behind the last step are of no use
  std::sort(runs.begin(), runs.end());
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
  return plan_with(std::move(runs));
}

std::vector<int32_t> Loosener::steps_of(const Plan& plan) {
  state_.assign(plan.runs);
  return state_.sequence();
}

double Loosener::sum_of_cubes(double full_share) const {
  const double full = full_bytes(full_share);
  const double scale = 1 / (budget_ - full);
  double sum = 0;
  for (double bytes : state_.stage_bytes()) {
    const double above = std::max(0.0, bytes - full) * scale;
    sum += above * above * above;
  }
  return sum;
}

Loosener::Energy Loosener::energy(const LooseningOptions& options) const {
  const double dear = std::max(0.0, state_.extra_cost() - options.extra_cost_limit);
  return {sum_of_cubes(options.full_share) + kAboveBudget * state_.excess() / budget_ +
              kAboveCost * dear / std::max(1.0, problem_.total_cost),
          state_.fits() && dear == 0};
}

bool Loosener::may_move(int32_t step, int32_t stage) const {
  return stage > step && stage < problem_.step_count && problem_.may_repeat(step, stage) &&
         !state_.runs_at(step, stage);
}

void Loosener::move_run(Run run, int32_t stage) {
  if (!may_move(run.step, stage)) return;
  state_.flip(run);
  state_.flip({stage, run.step});
}

void Loosener::shift_run() {
  if (extra_.empty()) return;
  const Run run = extra_[random_.below(static_cast<int64_t>(extra_.size()))];
  const auto by = static_cast<int32_t>(1 + random_.below(random_.unit() < 0.5 ? kNear : kFar));
  const int32_t stage = random_.unit() < 0.5 ? run.stage - by : run.stage + by;
  move_run(run, stage);
  const std::vector<int32_t>& beside = state_.extra_steps(run.stage);
  if (beside.empty() || random_.unit() >= kCompanions) return;
  move_run({run.stage, beside[random_.below(static_cast<int64_t>(beside.size()))]}, stage);
}

void Loosener::drop_run() {
  if (!extra_.empty()) state_.flip(extra_[random_.below(static_cast<int64_t>(extra_.size()))]);
}

void Loosener::add_run() {
  const auto stage = static_cast<int32_t>(1 + random_.below(problem_.step_count - 1));
  const auto step = static_cast<int32_t>(random_.below(stage));
  if (may_move(step, stage)) state_.flip({stage, step});
}

// A value that is not read in a full stage, but later: made again there, its bytes are free in between.
void Loosener::fill_gap(double full_share) {
  const double full = full_bytes(full_share);
  for (int i = 0; i < kGapTries && problem_.value_count() > 0; ++i) {
    const auto stage = static_cast<int32_t>(1 + random_.below(problem_.step_count - 1));
    if (state_.stage_bytes(stage) <= full) continue;
    const auto value = static_cast<int32_t>(random_.below(problem_.value_count()));
    const int32_t step = problem_.maker[value];
    if (step >= stage) continue;
    const int32_t next = state_.next_read(value, stage);
    if (!may_move(step, next) || state_.next_run(step, stage) <= next) continue;
    make_again(step, next);
    return;
  }
}

void Loosener::make_again(int32_t step, int32_t stage) {
  std::vector<int32_t> steps{step};
  for (size_t i = 0; i < steps.size() && steps.size() < kLongestChain; ++i) {
    for (int32_t value : problem_.inputs[steps[i]]) {
      const int32_t maker = problem_.maker[value];
      if (!may_move(maker, stage) || state_.end_of_latest(value, stage) >= stage) continue;
      if (random_.unit() >= kInputsToo || std::find(steps.begin(), steps.end(), maker) != steps.end()) continue;
      steps.push_back(maker);
    }
  }
  for (int32_t s : steps) state_.flip({stage, s});
}

void Loosener::propose(double full_share) {
  const double kind = random_.unit();
  if (kind < kShifts) return shift_run();
  if (kind < kShifts + kDrops) return drop_run();
  random_.unit() < kGaps ? fill_gap(full_share) : add_run();
  if (!state_.journal().empty() && random_.unit() < kExchanges) drop_run();
}

// The journal's runs are now part of the plan, or no longer.
void Loosener::accept() {
  for (const Run& run : state_.journal()) {
    const auto at = std::find(extra_.begin(), extra_.end(), run);
    if (at == extra_.end()) {
      extra_.push_back(run);
    } else {
      *at = extra_.back();
      extra_.pop_back();
    }
  }
  state_.forget_journal();
}

Loosener::Plan Loosener::loosen(const Plan& start, const LooseningOptions& options) {
  // Neighbouring seeds of a Random give one row of numbers, shifted.
  random_ = Random(Random(options.seed).next());
  state_.assign(start.runs);
  state_.forget_journal();
  extra_ = start.runs;
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
    accept();
    now = then;
    if (!now.is_within || now.value >= least) continue;
    least = now.value;
    best = extra_;
  }
  std::sort(best.begin(), best.end());
  return plan_with(std::move(best));
}

}  // namespace tidemark::memory
