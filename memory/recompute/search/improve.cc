#include "memory/recompute/search/improve.h"

#include <algorithm>
#include <cstdlib>

namespace tidemark::memory::recompute {
namespace {

// Overhead in percent from which the most idle flips grow.
constexpr double kCostly = 2;
constexpr double kStrongestNoise = 4;
// Share of rounds that may end dearer than they began, and how much above the best plan.
constexpr double kUphillShare = 0.3;
constexpr double kUphill = 1.005;
// A repair gives up this much above what it may end with: the pruning after it rarely saves more.
constexpr double kRepairAllowance = 0.02;
// Goes on for so many times what the best plan took to find.
constexpr double kPatience = 1.5;
constexpr double kShiftShare = 0.5;
// Share of rounds in which a single move is looked for first.
constexpr double kFinishShare = 0.3;
// Every run is exchanged one by one only where there are not more runs times steps: an exchange looks at all steps.
constexpr int64_t kMostRunsTimesSteps = 50'000;
// Of an exchange: how many stages earlier than needed are tried for a run.
constexpr int kEarlierStages = 8;
constexpr int64_t kLongestShift = 6;
constexpr int64_t kWidestInTrace = 12;
constexpr double kWorstStageShare = 0.8;
// Runs that a round of the improvement looks at for removal, beside those that the round itself added.
constexpr int64_t kPrunedPerRound = 100;

void sort_dearest_first(const Problem& problem, std::vector<Run>& runs) {
  const std::vector<double>& cost = problem.cost;
  std::sort(runs.begin(), runs.end(),
            [&](Run a, Run b) { return cost[a.step] != cost[b.step] ? cost[a.step] > cost[b.step] : a < b; });
}

bool prune_runs(PlanState& state, std::vector<Run>& runs) {
  sort_dearest_first(state.problem(), runs);
  bool removed = false;
  for (Run run : runs) {
    if (run.stage == run.step || !state.runs_at(run.step, run.stage) || state.is_needed(run)) continue;
    const size_t mark = state.mark();
    state.flip_and_settle(run);
    if (state.fits())
      removed = true;
    else
      state.undo_to(mark);
  }
  return removed;
}

class Improvement {
 public:
  Improvement(PlanState& state, Repair& repair, Random& random, const ImproveLimits& limits)
      : state_(state), repair_(repair), random_(random), limits_(limits) {}

  void run() {
    best_ = state_.extra_runs();
    best_cost_ = current_cost_ = state_.extra_cost();
    state_.forget_journal();
    first_flip_ = last_gain_ = state_.flips();
    while (has_flips() && exchange_each()) last_gain_ = state_.flips();
    while (best_cost_ > limits_.target_cost && has_flips() && is_patient()) {
      runs_ = state_.extra_runs();
      if (runs_.empty()) break;
      if (round()) last_gain_ = state_.flips();
    }
    if (state_.extra_cost() > best_cost_) state_.assign(best_);
    state_.forget_journal();
  }

 private:
  bool has_flips() const { return state_.flips() - first_flip_ < limits_.flips; }

  bool is_patient() const {
    return limits_.threshold > 0 || static_cast<double>(state_.flips() - last_gain_) <
                                        idle_flips() + kPatience * static_cast<double>(last_gain_ - first_flip_);
  }

  double idle_flips() const {
    const double percent = 100 * best_cost_ / std::max(state_.problem().total_cost, 1.0);
    const double flips = limits_.idle_flips + limits_.idle_flips_per_overhead * percent * percent * percent;
    const double dear = std::max(1.0, percent / kCostly);
    return std::min(flips, limits_.most_idle_flips * dear * dear * dear);
  }

  // Every run in turn is taken out and replaced by what is cheaper, if anything is. True if a better plan was found.
  bool exchange_each() {
    std::vector<Run> runs = state_.extra_runs();
    if (static_cast<int64_t>(runs.size()) * state_.problem().step_count > kMostRunsTimesSteps) return false;
    sort_dearest_first(state_.problem(), runs);
    const double before = best_cost_;
    for (Run run : runs)
      for (const Exchange way : {Exchange::one_move, Exchange::at_worst_stage, Exchange::excess})
        if (run.stage != run.step && state_.runs_at(run.step, run.stage)) exchange(run, way);
    return best_cost_ < before;
  }

  enum class Exchange { one_move, at_worst_stage, excess };

  void exchange(Run run, Exchange way) {
    const size_t mark = state_.mark();
    state_.flip_and_settle(run);
    RepairMode mode;
    mode.thorough = false;
    mode.gain_at_worst_stage = way == Exchange::at_worst_stage;
    mode.earlier_stages = kEarlierStages;
    mode.cost_limit = current_cost_;
    const bool fits =
        way == Exchange::one_move ? repair_.finish(current_cost_ - state_.extra_cost()) : repair_.run(mode);
    if (fits) prune_some(mark);
    if (fits && state_.extra_cost() < current_cost_)
      take_as_best();
    else
      state_.undo_to(mark);
  }

  void take_as_best() {
    state_.forget_journal();
    current_cost_ = best_cost_ = state_.extra_cost();
    best_ = state_.extra_runs();
  }

  // Threshold accepting (Dueck, Scheuer 1990), or now and then a slightly dearer plan, measured from the best one.
  double allowed_cost() {
    if (limits_.threshold > 0) {
      const double left = 1 - static_cast<double>(state_.flips() - first_flip_) / static_cast<double>(limits_.flips);
      return current_cost_ + limits_.threshold * left * left * best_cost_ * random_.unit();
    }
    return random_.unit() < kUphillShare ? std::max(current_cost_, best_cost_ * kUphill) : current_cost_;
  }

  // True if a better plan than the best so far was found.
  bool round() {
    const size_t mark = state_.mark();
    destroy();
    RepairMode mode;
    mode.noise = kStrongestNoise * random_.unit();
    mode.thorough = false;
    mode.gain_at_worst_stage = random_.unit() < kWorstStageShare;
    const double allowed = allowed_cost();
    mode.cost_limit = allowed + kRepairAllowance * current_cost_;
    const bool fits =
        (random_.unit() < kFinishShare && repair_.finish(allowed - state_.extra_cost())) || repair_.run(mode);
    if (fits) prune_some(mark);
    if (!fits || state_.extra_cost() > allowed) {
      state_.undo_to(mark);
      return false;
    }
    state_.forget_journal();
    current_cost_ = state_.extra_cost();
    if (current_cost_ >= best_cost_) return false;
    take_as_best();
    return true;
  }

  void destroy() {
    const auto count = static_cast<int64_t>(runs_.size());
    const int64_t way = random_.below(3);
    if (way == 0) {  // some, anywhere
      for (int64_t left = 1 + random_.below(std::min<int64_t>(count, 4)); left > 0; --left)
        take_out(runs_[random_.below(count)]);
    } else if (way == 1) {  // neighbours in time
      const int64_t begin = random_.below(count);
      const int64_t length = 1 + random_.below(std::min<int64_t>(count, 8));
      for (int64_t i = begin; i < std::min(count, begin + length); ++i) take_out(runs_[i]);
    } else {  // neighbours in the trace
      const int32_t centre = runs_[random_.below(count)].step;
      const auto width = static_cast<int32_t>(1 + random_.below(kWidestInTrace));
      for (Run run : runs_)
        if (std::abs(run.step - centre) <= width) take_out(run);
    }
    if (random_.unit() < kShiftShare) shift(runs_[random_.below(count)]);
    state_.settle();
  }

  // The same run at another time, before it is read: costs nothing, but may open the way for others.
  void shift(Run run) {
    const auto by = static_cast<int32_t>(1 + random_.below(kLongestShift));
    const int32_t stage = random_.unit() < 0.7 ? run.stage - by : run.stage + by;
    if (stage <= run.step || stage >= state_.problem().step_count || state_.runs_at(run.step, stage) ||
        !state_.problem().may_repeat(run.step, stage))
      return;
    take_out(run);
    state_.flip({stage, run.step});
  }

  void take_out(Run run) {
    if (state_.runs_at(run.step, run.stage)) state_.flip(run);
  }

  void prune_some(size_t mark) {
    std::vector<Run> all = state_.extra_runs();
    if (static_cast<int64_t>(all.size()) > kPrunedPerRound) {
      std::vector<Run> some(state_.journal().begin() + static_cast<int64_t>(mark), state_.journal().end());
      for (int64_t i = 0; i < kPrunedPerRound; ++i)
        some.push_back(all[random_.below(static_cast<int64_t>(all.size()))]);
      all.swap(some);
    }
    prune_runs(state_, all);
  }

  PlanState& state_;
  Repair& repair_;
  Random& random_;
  const ImproveLimits limits_;
  std::vector<Run> runs_;
  std::vector<Run> best_;
  double best_cost_ = 0;
  double current_cost_ = 0;
  int64_t first_flip_ = 0;
  int64_t last_gain_ = 0;
};

}  // namespace

void prune(PlanState& state) {
  std::vector<Run> runs = state.extra_runs();
  while (prune_runs(state, runs)) {
  }
}

void improve(PlanState& state, Repair& repair, Random& random, const ImproveLimits& limits) {
  Improvement(state, repair, random, limits).run();
}

}  // namespace tidemark::memory::recompute
