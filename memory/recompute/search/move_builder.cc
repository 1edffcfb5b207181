#include "memory/recompute/search/move_builder.h"

#include <algorithm>

namespace tidemark::memory::recompute {
namespace {

// Limits of the price recursion: without them it visits most of a random graph for every candidate.
constexpr int kMaxDepth = 40;
constexpr int kMaxVisits = 120;

}  // namespace

MoveBuilder::MoveBuilder(const PlanState& state)
    : state_(state),
      problem_(state.problem()),
      priced_(problem_.step_count, 0),
      price_(problem_.step_count, 0),
      chosen_(problem_.step_count, 0),
      added_(problem_.step_count, 0) {}

int32_t MoveBuilder::available_until(int32_t value, int32_t stage) const {
  const int32_t maker = problem_.maker[value];
  const int32_t made = state_.latest_run(maker, stage);
  return made == stage ? stage : state_.end_of_latest(value, stage);
}

bool MoveBuilder::misses_input(int32_t step, int32_t stage) const {
  for (int32_t v : problem_.inputs[step])
    if (available_until(v, stage) < stage) return true;
  return false;
}

double MoveBuilder::cost_of_keeping(int32_t value, int32_t stage, double price) const {
  const int32_t until = available_until(value, stage);
  if (until >= stage) return 0;
  const int32_t made = state_.latest_run(problem_.maker[value], stage);
  return state_.excess_growth(std::max(until, made + 1), stage, problem_.bytes[value]) / price;
}

double MoveBuilder::price_of(int32_t step, int32_t stage, double price, int depth) {
  if (priced_[step] == stamp_) return price_[step];
  double cost = problem_.cost[step];
  ++visits_;
  if (depth < kMaxDepth && visits_ < kMaxVisits) {
    for (int32_t v : problem_.inputs[step]) {
      const int32_t maker = problem_.maker[v];
      if (chosen_[maker] == stamp_) continue;
      const double keep = cost_of_keeping(v, stage, price);
      if (keep <= 0) continue;
      if (problem_.cost[maker] >= keep || !problem_.may_repeat(maker, stage)) {
        cost += keep;
        continue;
      }
      const double again = price_of(maker, stage, price, depth + 1);
      if (again < keep) chosen_[maker] = stamp_;
      cost += std::min(again, keep);
    }
  }
  priced_[step] = stamp_;
  price_[step] = cost;
  return cost;
}

void MoveBuilder::add(int32_t step, int32_t stage, InputRule rule, double price, size_t max_runs) {
  runs_.push_back({stage, step});
  added_[step] = stamp_;
  if (rule == InputRule::keep) return;
  for (int32_t v : problem_.inputs[step]) {
    const int32_t maker = problem_.maker[v];
    if (added_[maker] == stamp_ || !problem_.may_repeat(maker, stage)) continue;
    if (rule == InputRule::cheaper && chosen_[maker] != stamp_) continue;
    if (available_until(v, stage) >= stage) continue;
    if (runs_.size() < max_runs) add(maker, stage, rule, price, max_runs);
  }
}

const std::vector<Run>& MoveBuilder::build(int32_t step, int32_t stage, InputRule rule, double price, size_t max_runs) {
  ++stamp_;
  visits_ = 0;
  runs_.clear();
  if (rule == InputRule::cheaper) price_of(step, stage, price, 0);
  add(step, stage, rule, price, max_runs);
  return runs_;
}

}  // namespace tidemark::memory::recompute
