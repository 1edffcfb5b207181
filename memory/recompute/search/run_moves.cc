#include "memory/recompute/search/run_moves.h"

#include <algorithm>

namespace tidemark::memory::recompute {
namespace {

constexpr double kCompanions = 0.3;  // of the shifts: a run of the same stage goes along
constexpr double kInputsToo = 0.3;   // of the inputs that are gone
constexpr int32_t kNear = 3;         // stages; half of the shifts
constexpr int32_t kFar = 30;
constexpr size_t kLongestChain = 8;

}  // namespace

void RunMoves::start(const std::vector<Run>& runs) {
  state_.assign(runs);
  state_.forget_journal();
  runs_ = runs;
}

void RunMoves::accept() {
  for (const Run& run : state_.journal()) {
    const auto at = std::find(runs_.begin(), runs_.end(), run);
    if (at == runs_.end()) {
      runs_.push_back(run);
    } else {
      *at = runs_.back();
      runs_.pop_back();
    }
  }
  state_.forget_journal();
}

void RunMoves::move(Run run, int32_t stage) {
  if (!may_run(run.step, stage)) return;
  state_.flip(run);
  state_.flip({stage, run.step});
}

void RunMoves::shift_any() {
  if (runs_.empty()) return;
  const Run run = runs_[random_.below(static_cast<int64_t>(runs_.size()))];
  const auto by = static_cast<int32_t>(1 + random_.below(random_.unit() < 0.5 ? kNear : kFar));
  const int32_t stage = random_.unit() < 0.5 ? run.stage - by : run.stage + by;
  move(run, stage);
  const std::vector<int32_t>& beside = state_.extra_steps(run.stage);
  if (beside.empty() || random_.unit() >= kCompanions) return;
  move({run.stage, beside[random_.below(static_cast<int64_t>(beside.size()))]}, stage);
}

void RunMoves::drop_any() {
  if (!runs_.empty()) state_.flip(runs_[random_.below(static_cast<int64_t>(runs_.size()))]);
}

void RunMoves::add_any() {
  const auto stage = static_cast<int32_t>(1 + random_.below(problem_.step_count - 1));
  const auto step = static_cast<int32_t>(random_.below(stage));
  if (may_run(step, stage)) state_.flip({stage, step});
}

void RunMoves::make_again(int32_t step, int32_t stage) {
  std::vector<int32_t> steps{step};
  for (size_t i = 0; i < steps.size() && steps.size() < kLongestChain; ++i) {
    for (int32_t value : problem_.inputs[steps[i]]) {
      const int32_t maker = problem_.maker[value];
      if (!may_run(maker, stage) || state_.end_of_latest(value, stage) >= stage) continue;
      if (random_.unit() >= kInputsToo || std::find(steps.begin(), steps.end(), maker) != steps.end()) continue;
      steps.push_back(maker);
    }
  }
  for (int32_t s : steps) state_.flip({stage, s});
}

bool RunMoves::make_idle_again(int32_t value, int32_t stage) {
  const int32_t step = problem_.maker[value];
  if (step >= stage) return false;
  const int32_t next = state_.next_read(value, stage);
  if (!may_run(step, next) || state_.next_run(step, stage) <= next) return false;
  make_again(step, next);
  return true;
}

}  // namespace tidemark::memory::recompute
