// What a solution of a checkpoint program means as a plan, and which stages it forgets.
#pragma once

#include <vector>

#include "memory/recompute/bound/checkpoint_program.h"
#include "memory/recompute/search/plan_state.h"

namespace tidemark::memory::recompute {

// The runs of a plan that has resident at the program's stages what the solution has (rounded), and makes the rest
// again just before it is needed. It may be above the budget elsewhere.
std::vector<Run> implied_runs(const Problem& problem, const CheckpointProgram& program,
                              const std::vector<double>& solution);

// The highest bytes of every stage: of its base step, and of its repeated runs (0 without).
struct StageBytes {
  std::vector<double> base, again;
};
StageBytes bytes_of_runs(const Problem& problem, const std::vector<Run>& runs);

// Sets of further stages that would forbid a plan, at most so many: of the places where it is above the budget some
// spread over the step, the worst first. Where a base step is above the budget, its stage; where a repeated run is, its
// stage and the one before.
std::vector<std::vector<int32_t>> further_stages(const StageBytes& bytes, double budget_bytes,
                                                 const std::vector<int32_t>& stages, size_t most);

}  // namespace tidemark::memory::recompute
