// The relaxation of Note [Bound on the overhead] as a program whose variables are 0 or 1.
#pragma once

#include <vector>

#include "memory/recompute/bound/linear_program.h"
#include "memory/recompute/search/plan_state.h"

namespace tidemark::memory::recompute {

// A variable, or one minus it, or a constant.
struct Literal {
  int32_t variable = -1;  // of the program; -1: constant
  bool negated = false;   // of a constant: it is 1

  static Literal zero() { return {-1, false}; }
  static Literal one() { return {-1, true}; }
  bool is_zero() const { return variable < 0 && !negated; }
  bool is_one() const { return variable < 0 && negated; }
  Literal operator!() const { return {variable, !negated}; }
};

struct CheckpointProgram {
  LinearProgram linear;
  std::vector<int32_t> stages;
  std::vector<std::vector<Literal>> resident;  // by stage, by value
};

struct CheckpointOptions {
  double cost_scale = 1;            // costs are divided by it
  double known_cost = 0;            // divided too: steps that cost more are not made again
  int64_t rerun_terms = 1'000'000;  // for each pair of neighbouring stages: its rows for repeated runs, if no more
};

// Stages ascending.
CheckpointProgram make_checkpoint_program(const Problem& problem, double budget_bytes, std::vector<int32_t> stages,
                                          const CheckpointOptions& options);

}  // namespace tidemark::memory::recompute
