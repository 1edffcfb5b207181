// The search for one budget, and for a row of them.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/recompute/search/plan_state.h"
#include "memory/recompute/search/random.h"
#include "memory/recompute/search/repair.h"

namespace tidemark::memory::recompute {

struct SearchResult {
  std::vector<Run> runs;
  double extra_cost = 0;
  double peak_bytes = 0;
  bool fits = false;
};

class Search {
 public:
  // work_limit: flips for one budget of a small trace; less for long ones, more where the overhead is high. The problem
  // must outlive the search.
  Search(const Problem& problem, uint64_t seed, int64_t work_limit);

  // The cheapest plan found for the budget, else the one with the lowest peak. `start`: runs of a plan for a larger
  // budget, tried as a point to start from beside the plain order.
  SearchResult run(double budget_bytes, const std::vector<Run>& start);

  int64_t work() const { return work_; }

 private:
  bool greedy(bool gain_at_worst_stage, const std::vector<Run>& start, int64_t flip_limit, double noise = 0);
  void start_again(int64_t first_flip);
  void improve_best(int64_t first_flip);
  bool descend(double budget_bytes, int64_t flip_limit);
  bool wander(int64_t flip_limit);
  void disturb(const std::vector<Run>& runs);
  void keep_if_better();
  double overhead_percent() const;
  int64_t improvement_flips() const;

  const Problem& problem_;
  const int64_t work_limit_;
  PlanState state_;
  Repair repair_;
  Random random_;
  SearchResult best_;
  int64_t work_ = 0;
  double flip_length_ = 1;  // how much longer a flip takes than in a small trace
};

}  // namespace tidemark::memory::recompute
