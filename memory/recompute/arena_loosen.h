// Room for an arena: schedules that cost little more and leave the stages less full.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/recompute/search/plan_state.h"
#include "memory/recompute/search/random.h"
#include "memory/recompute/search/run_moves.h"

namespace tidemark::memory {

struct LooseningOptions {
  double extra_cost_limit = 0;
  // Of the budget beside the fixed bytes, in [0, 1): a stage that is less full does not matter.
  double full_share = 0.9;
  int64_t moves = 2500;
  uint64_t seed = 1;
};

// Note [Loosening]
// The problem: a schedule that fills the budget to the last byte at many stages has no arena within it, or none that is
// found. A lower budget for all stages buys room where none is needed, and is dear.
//
// The idea: whether offsets are found hangs on how many stages are nearly full, not on the fullest. So the budget
// stays, and the sum over the stages of the cube of (bytes above a share of it) is brought down at a given cost, by
// simulated annealing: a run moves to another stage, alone or with one beside it; runs go; a value that lies idle
// across a full stage is made again behind it, with some of what its step reads. The cube of what is above nine tenths
// follows the arena that offset planners need (rank correlation 0.7 among plans of one budget) as well as anything
// that was tried.
//
// Limits: it is a guess at what packs. The rest is luck, so the caller asks the offset planner about many plans, each
// loosened with another seed and share.
class Loosener {
 public:
  struct Plan {
    std::vector<recompute::Run> runs;  // beyond the trace's own
    double extra_cost = 0;
    double fullness = 0;  // sum over stages; a stage at the budget counts 1, one below nine tenths nothing
  };

  // The problem must outlive it. budget_bytes must be above the fixed bytes.
  Loosener(const recompute::Problem& problem, double budget_bytes);
  Loosener(const Loosener&) = delete;
  Loosener& operator=(const Loosener&) = delete;

  Plan plan_of(const std::vector<int32_t>& steps);  // of a schedule
  std::vector<int32_t> steps_of(const Plan& plan);  // back

  // The least full plan found among those within the budget and the cost; the start if it saw none.
  Plan loosen(const Plan& start, const LooseningOptions& options);

  int64_t flips() const { return state_.flips(); }

 private:
  // What is brought down, and whether a plan may be kept at all.
  struct Energy {
    double value = 0;
    bool is_within = false;
  };
  Plan plan_with(std::vector<recompute::Run> runs);
  Energy energy(const LooseningOptions& options) const;
  void propose(double full_share);
  void fill_gap(double full_share);

  const recompute::Problem& problem_;
  const double budget_;
  recompute::PlanState state_;
  recompute::Random random_{0};
  recompute::RunMoves moves_;
};

}  // namespace tidemark::memory
