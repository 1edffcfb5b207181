#include "memory/recompute/search/search.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "memory/recompute/search/improve.h"

namespace tidemark::memory::recompute {
namespace {

constexpr int32_t kLongTrace = 600;  // steps; above, several moves are made at once

// Share of the budget that one step of a descent goes down to, and the gentlest such step.
constexpr double kDescent = 0.9;
constexpr double kGentlest = 0.995;
// Of the work, for a descent beside a plan that is found but dear.
constexpr double kDescentShare = 0.3;
// Of the improvement, for other starts where the overhead is very high, and the noise of those.
constexpr double kStartShare = 0.3;
constexpr double kStartNoise = 0.6;
// Even without time for improvement, a plan that fits is looked for with so many flips.
constexpr int64_t kLeastFlips = 50'000;
constexpr int64_t kLeastFlipsPerStep = 40;
// A second way is given up at so many times the cost of the first: pruning does not save more.
constexpr double kHopelessCost = 3;
// Random flips find nothing in long traces.
constexpr int32_t kShortTrace = 100;
constexpr double kUphillWander = 0.3;
// Overhead in percent from which more is tried: there is more to gain.
constexpr double kCostly = 2;
constexpr double kVeryCostly = 8;
// An attempt without a flip must not go on for ever.
constexpr int kMostAttempts = 400;
// A flip takes longer where there are more steps than this.
constexpr double kCheapSteps = 145;
// How long to go on without a better plan: so many flips, and more by the step of the trace, the more the more there is
// to gain (the cube of the overhead in percent), up to a limit.
constexpr double kIdleFlips = 2200;
constexpr double kIdleFlipsPerOverhead = 12;
constexpr double kMostIdleFlips = 60;
// Where the overhead is very high, and less where there are fewer flips by the step: it takes many to cool down.
constexpr double kThreshold = 0.1;
constexpr double kManyFlipsPerStep = 1000;

}  // namespace

Search::Search(const Problem& problem, uint64_t seed, int64_t work_limit)
    : problem_(problem), work_limit_(work_limit), state_(problem, 0), repair_(state_, seed), random_(seed + 1) {
  flip_length_ = std::max(1.0, problem.step_count / kCheapSteps);
}

void Search::keep_if_better() {
  const bool fits = state_.fits();
  const double peak = *std::max_element(state_.stage_bytes().begin(), state_.stage_bytes().end());
  const bool better =
      fits != best_.fits ? fits : (fits ? state_.extra_cost() < best_.extra_cost : peak < best_.peak_bytes);
  if (better) best_ = {state_.extra_runs(), state_.extra_cost(), peak, fits};
}

bool Search::greedy(bool gain_at_worst_stage, const std::vector<Run>& start, int64_t flip_limit, double noise) {
  state_.assign(start);
  RepairMode mode;
  mode.gain_at_worst_stage = gain_at_worst_stage;
  mode.noise = noise;
  mode.several_at_once = problem_.step_count > kLongTrace;
  if (best_.fits) mode.cost_limit = kHopelessCost * best_.extra_cost;
  mode.flip_limit = flip_limit;
  const bool fits = repair_.run(mode);
  if (fits) prune(state_);
  keep_if_better();
  return fits;
}

double Search::overhead_percent() const { return 100 * best_.extra_cost / std::max(problem_.total_cost, 1.0); }

int64_t Search::improvement_flips() const {
  const double stake = std::clamp(overhead_percent() / kCostly, 1.0, 1.5);
  return static_cast<int64_t>(static_cast<double>(work_limit_) * stake / flip_length_);
}

// Other places to start from, where much is at stake: a descent, and noisy repairs of the plain order.
void Search::start_again(int64_t first_flip) {
  descend(state_.budget_bytes(), static_cast<int64_t>(kDescentShare * static_cast<double>(work_limit_)));
  const int64_t last = first_flip + static_cast<int64_t>(kStartShare * static_cast<double>(improvement_flips()));
  for (int i = 0; i < kMostAttempts && overhead_percent() > kVeryCostly && state_.flips() < last; ++i)
    greedy(random_.unit() < 0.5, {}, work_limit_ / 4, kStartNoise * random_.unit());
}

void Search::improve_best(int64_t first_flip) {
  state_.assign(best_.runs);
  const double steps = problem_.step_count;
  ImproveLimits limits;
  limits.flips = improvement_flips() - (state_.flips() - first_flip);
  limits.idle_flips = kIdleFlips / flip_length_;
  limits.idle_flips_per_overhead = kIdleFlipsPerOverhead * steps;
  limits.most_idle_flips = kMostIdleFlips * steps;
  if (overhead_percent() > kVeryCostly)
    limits.threshold = kThreshold * std::min(1.0, static_cast<double>(limits.flips) / (kManyFlipsPerStep * steps));
  improve(state_, repair_, random_, limits);
  keep_if_better();
}

// Where the plain order is too far from the budget: down in small steps, each from the plan of the last.
bool Search::descend(double budget_bytes, int64_t flip_limit) {
  const int64_t first = state_.flips();
  state_.assign({});
  double budget = *std::max_element(state_.stage_bytes().begin(), state_.stage_bytes().end());
  double ratio = kDescent;
  std::vector<Run> runs;
  for (int i = 0; i < kMostAttempts && state_.flips() - first < flip_limit; ++i) {
    const double next = std::max(budget_bytes, std::floor(budget * ratio));
    state_.set_budget(next);
    RepairMode mode;
    mode.gain_at_worst_stage = random_.unit() < 0.7;
    mode.noise = runs.empty() ? 0 : 2 * random_.unit() * random_.unit();
    mode.earlier_stages = 3 + static_cast<int>(random_.below(6));
    mode.several_at_once = problem_.step_count > kLongTrace;
    mode.flip_limit = flip_limit / 8;
    if (repair_.run(mode)) {
      prune(state_);
      runs = state_.extra_runs();
      budget = next;
      if (budget <= budget_bytes) break;
      ratio = std::max(kDescent, ratio * ratio);
      continue;
    }
    // Too steep: smaller steps from where it last fitted, a part of the runs taken out first.
    ratio = std::sqrt(ratio);
    if (ratio > kGentlest) ratio = kDescent + random_.unit() * (kGentlest - kDescent);
    state_.assign(runs);
    disturb(runs);
  }
  state_.assign(runs);
  state_.set_budget(budget_bytes);
  keep_if_better();
  return state_.fits() || (problem_.step_count <= kShortTrace && wander(flip_limit / 2));
}

// Single flips at random, kept where the excess does not grow much: finds what needs several flips of which none is a
// gain by itself.
bool Search::wander(int64_t flip_limit) {
  state_.forget_journal();
  for (int64_t i = 0; i < flip_limit && !state_.fits(); ++i) {
    const auto stage = static_cast<int32_t>(1 + random_.below(problem_.step_count - 1));
    const std::vector<int32_t>& extra = state_.extra_steps(stage);
    const bool take_out = !extra.empty() && random_.unit() < 0.5;
    const auto step = take_out ? extra[random_.below(static_cast<int64_t>(extra.size()))]
                               : static_cast<int32_t>(random_.below(stage));
    if (!problem_.may_repeat(step, stage)) continue;
    const size_t mark = state_.mark();
    const double allowed = state_.excess() * (1 + kUphillWander * random_.unit());
    state_.flip_and_settle({stage, step});
    if (state_.excess() > allowed) state_.undo_to(mark);
  }
  if (state_.fits()) prune(state_);
  keep_if_better();
  return state_.fits();
}

// Takes out runs of a window of stages, or some of all.
void Search::disturb(const std::vector<Run>& runs) {
  const double share = 0.05 + 0.5 * random_.unit() * random_.unit();
  const auto centre = static_cast<int32_t>(random_.below(problem_.step_count));
  const auto width = static_cast<int32_t>(5 + random_.below(1 + problem_.step_count / 3));
  const bool window = random_.unit() < 0.6;
  for (Run run : runs)
    if (window ? std::abs(run.stage - centre) < width && random_.unit() < 0.8 : random_.unit() < share)
      state_.flip(run);
  state_.settle();
}

SearchResult Search::run(double budget_bytes, const std::vector<Run>& start) {
  const int64_t first = state_.flips();
  state_.assign({});
  state_.set_budget(budget_bytes);
  best_ = {{}, 0, std::numeric_limits<double>::infinity(), false};
  keep_if_better();
  if (!best_.fits) {
    const int64_t least = kLeastFlips + kLeastFlipsPerStep * problem_.step_count;
    const int64_t most = std::max(work_limit_, least) / 4;
    greedy(true, {}, most);
    const int64_t taken = state_.flips() - first;
    greedy(false, {}, best_.fits ? std::min(most, taken + kLeastFlips / 20) : most);
    if (!start.empty()) greedy(true, start, most);
    if (!best_.fits) descend(budget_bytes, std::max(work_limit_, least));
    if (best_.fits && overhead_percent() > kVeryCostly) start_again(first);
    if (best_.fits) improve_best(first);
  }
  work_ += state_.flips() - first;
  return best_;
}

}  // namespace tidemark::memory::recompute
