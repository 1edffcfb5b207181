// Random changes of a plan, one run or a few at a time: what annealing proposes.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/recompute/search/plan_state.h"
#include "memory/recompute/search/random.h"

namespace tidemark::memory::recompute {

// Changes the state and nothing else: what was flipped is in its journal, unsettled. The caller settles, looks, and
// either accepts or undoes to the journal's start. State and random numbers must outlive it.
class RunMoves {
 public:
  RunMoves(const Problem& problem, PlanState& state, Random& random)
      : problem_(problem), state_(state), random_(random) {}

  // Makes these the plan's extra runs.
  void start(const std::vector<Run>& runs);
  // The extra runs as of the last accept(), in any order.
  const std::vector<Run>& runs() const { return runs_; }
  // The journal's runs are now part of the plan, or no longer.
  void accept();

  // A run goes to another stage, near or far, now and then with one beside it.
  void shift_any();
  void drop_any();
  void add_any();

  bool may_run(int32_t step, int32_t stage) const {
    return stage > step && stage < problem_.step_count && problem_.may_repeat(step, stage) &&
           !state_.runs_at(step, stage);
  }
  // Nothing happens where the step must not run there, or does already.
  void move(Run run, int32_t stage);
  // The step, and some of the steps whose values it reads and that are gone there.
  void make_again(int32_t step, int32_t stage);
  // Where a value is idle in a stage and read later: made again for that reader, it is free in between. False, and no
  // change, where it is not.
  bool make_idle_again(int32_t value, int32_t stage);

 private:
  const Problem& problem_;
  PlanState& state_;
  Random& random_;
  std::vector<Run> runs_;
};

}  // namespace tidemark::memory::recompute
