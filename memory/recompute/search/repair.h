// Greedy repair: adds runs until no stage is above the budget.
//
// Note [Greedy moves]
// A move takes the worst stage and a value that lies idle across it, and runs the value's step again where the value is
// next read. What the step reads may be gone by then: three moves are tried, keeping it alive, running it again as well
// (and what it reads, in turn), and the cheaper of both input by input. The step may also run earlier than needed,
// where an input dies. Each move is applied, measured exactly and taken back; the best gain per cost is applied for
// good. Slide: in a backward pass the chain a -> b -> c is often recomputed for c first and for b later. A move that
// runs b for c makes the later run of b needless; unless it is removed within the move, its cost counts twice and the
// move looks bad. Two kinds of gain find different plans, so both are run: the excess summed over stages, and the bytes
// at the worst stage alone. An upper bound on gain per cost orders the candidates, so that few are measured.
#pragma once

#include <limits>
#include <vector>

#include "memory/recompute/search/gaps.h"
#include "memory/recompute/search/move_builder.h"
#include "memory/recompute/search/plan_state.h"
#include "memory/recompute/search/random.h"

namespace tidemark::memory::recompute {

struct RepairMode {
  bool gain_at_worst_stage = false;  // else the excess summed over stages
  double noise = 0;                  // relative disturbance of the scores
  bool thorough = true;          // where no move gains: deeper chains, other stages, moves for the worst stage alone
  int earlier_stages = 3;        // how many stages earlier than needed are tried for a run
  bool several_at_once = false;  // applies all good moves of a stage, not the best alone: for long traces
  double cost_limit = std::numeric_limits<double>::infinity();  // gives up above this extra cost
  int64_t flip_limit = std::numeric_limits<int64_t>::max();     // gives up after so many flips
};

class Repair {
 public:
  // The state must outlive the repair.
  Repair(PlanState& state, uint64_t seed);

  // True if the state fits afterwards; else it is left where the repair gave up.
  bool run(const RepairMode& mode);
  // The cheapest single move after which the state fits, if there is one that costs less than this: true. Where several
  // small moves look best by gain per cost, one that does it all can still be cheaper than their sum.
  bool finish(double cost_limit);

 private:
  struct Candidate {
    Gap gap;
    double bound = 0;  // on the score
    bool refined = false;
    double gain_bound = 0;
  };
  struct Move {
    std::vector<Run> flips;
    double score = 0;
    int candidate = 0;
  };

  bool step();
  bool improve_at(int32_t stage);
  void collect_candidates();
  double rough_bound(const Gap& gap) const;
  void refine(Candidate& candidate);
  void try_candidate(const Candidate& candidate);
  void try_stage(const Candidate& candidate, int32_t stage);
  void try_one_way(const Candidate& candidate);
  double finish_with(const Gap& gap, double cost_limit);
  double price_of_excess() const;
  void collect_stages(const Gap& gap);
  bool worth_measuring(const std::vector<Run>& runs, double gain_bound) const;
  void measure(const std::vector<Run>& runs, double gain_bound);
  void slide();
  void keep_score(double excess_drop, double bytes_drop, double cost);
  void apply_others();
  double disturbance();
  double tolerance() const { return mode_.noise > 0 ? 1 / (1 + mode_.noise) : 0.999; }

  PlanState& state_;
  const Problem& problem_;
  MoveBuilder builder_;
  ExcessSums sums_;
  Random random_;
  RepairMode mode_;
  double least_cost_;  // added to costs in ratios: free steps must not win by division
  double price_ = 0;   // excess bytes per cost of the last move applied

  // Of the stage at work.
  int32_t stage_ = 0;
  bool desperate_ = false;
  bool wide_ = false;
  size_t max_runs_ = 40;
  std::vector<Gap> gaps_;
  std::vector<Candidate> candidates_;
  std::vector<int32_t> stages_;
  std::vector<Run> flips_;
  Move best_;
  double best_price_ = 0;
  std::vector<Move> others_;
  int candidate_number_ = 0;
  int desperate_steps_ = 0;
};

}  // namespace tidemark::memory::recompute
