#include "memory/recompute/search/search.h"

#include <algorithm>

#include "memory/recompute/search/improve.h"

namespace tidemark::memory::recompute {
namespace {

constexpr int32_t kLongTrace = 600;  // steps; above, several moves are made at once

// How long to go on without a better plan grows with what there is to gain: the square of the overhead in percent, but
// not beyond what a trace of so many steps needs.
constexpr double kIdleFlips = 2500;
constexpr double kIdleFlipsPerOverhead = 8000;
constexpr double kIdleFlipsPerStep = 80;

}  // namespace

Search::Search(const Problem& problem, uint64_t seed, int64_t work_limit)
    : problem_(problem), work_limit_(work_limit), state_(problem, 0), repair_(state_, seed), random_(seed + 1) {}

void Search::keep_if_better() {
  const bool fits = state_.fits();
  const double peak = *std::max_element(state_.stage_bytes().begin(), state_.stage_bytes().end());
  const bool better =
      fits != best_.fits ? fits : (fits ? state_.extra_cost() < best_.extra_cost : peak < best_.peak_bytes);
  if (better) best_ = {state_.extra_runs(), state_.extra_cost(), peak, fits};
}

bool Search::greedy(bool gain_at_worst_stage, const std::vector<Run>& start, double cost_limit) {
  state_.assign(start);
  RepairMode mode;
  mode.gain_at_worst_stage = gain_at_worst_stage;
  mode.several_at_once = problem_.step_count > kLongTrace;
  mode.cost_limit = cost_limit;
  const bool fits = repair_.run(mode);
  if (fits) prune(state_);
  keep_if_better();
  return fits;
}

int64_t Search::idle_flips() const {
  const double percent = 100 * best_.extra_cost / std::max(problem_.total_cost, 1.0);
  return static_cast<int64_t>(std::min(kIdleFlips + kIdleFlipsPerOverhead * percent * percent,
                                       kIdleFlipsPerStep * static_cast<double>(problem_.step_count)));
}

// Nothing fits yet: take out part of the runs, repair with noise, keep what lowers the excess.
bool Search::struggle(double) { return false; }

SearchResult Search::run(double budget_bytes, const std::vector<Run>& start) {
  const int64_t first = state_.flips();
  state_.assign({});
  state_.set_budget(budget_bytes);
  best_ = {{}, 0, std::numeric_limits<double>::infinity(), false};
  keep_if_better();
  if (!best_.fits) {
    greedy(false, {}, std::numeric_limits<double>::infinity());
    greedy(true, {}, best_.fits ? 3 * best_.extra_cost : std::numeric_limits<double>::infinity());
    if (!start.empty())
      greedy(true, start, best_.fits ? 3 * best_.extra_cost : std::numeric_limits<double>::infinity());
    if (best_.fits) {
      state_.assign(best_.runs);
      ImproveLimits limits;
      limits.flips = work_limit_ - (state_.flips() - first);
      limits.idle_flips = idle_flips();
      improve(state_, repair_, random_, limits);
      keep_if_better();
    }
  }
  work_ += state_.flips() - first;
  return best_;
}

}  // namespace tidemark::memory::recompute
