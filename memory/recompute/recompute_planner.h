// Recomputation under a budget: which steps of a training step run more than once, so that its peak stays within so
// many bytes, at the least extra cost. The planners share this interface.
//
// To add a planner: one .h/.cc with a class derived from RecomputePlanner, one line in planner_list.cc; the conformance
// suite (planner_conformance_test.cc) runs over the list and picks it up.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "memory/arena/offset_planner.h"
#include "memory/recompute/schedule.h"
#include "memory/recompute/step_trace.h"

namespace tidemark::memory {

struct RecomputeOptions {
  uint64_t seed = 1;
  // Search effort in units of the planner's own elementary moves, never seconds: the same trace, options and seed give
  // the same plan on every machine.
  int64_t work_limit = 110'000;
  // Effort for the lower bound on the overhead, in its own units; 0: no bound.
  int64_t bound_work_limit = 300'000'000;
  // Where set, plan()'s budget holds for the arena that this planner lays out (alignment and fragmentation included),
  // not only for the sum of live bytes. Not owned.
  const OffsetPlanner* offset_planner = nullptr;
  OffsetPlannerOptions offset_options;
};

struct RecomputePlan {
  Schedule schedule;
  int64_t extra_cost = 0;  // cost of the schedule less the cost of the trace
  double overhead = 0;     // extra_cost / cost of the trace; 0 for a trace without cost
  // plan() only: what every schedule within the budget costs at least (overhead_bound.h); 0 if not looked for.
  int64_t extra_cost_lower_bound = 0;
  double overhead_lower_bound = 0;
  int64_t peak_live_bytes = 0;  // fixed_bytes included
  // With an offset planner: fixed_bytes + the arena's peak, and the offsets of schedule.instances and workspaces in the
  // order of arena_trace(). Without: 0 and empty.
  int64_t peak_arena_bytes = 0;
  OffsetPlan offsets;
  int64_t work = 0;     // units spent
  std::string planner;  // which planner (and which of its ways) found it
};

class RecomputePlanner {
 public:
  virtual ~RecomputePlanner() = default;

  virtual std::string_view name() const = 0;

  // The cheapest schedule it can find whose peak is at most budget_bytes (fixed_bytes included). Throws what
  // validate(trace) throws, and Error(out_of_memory) where it finds none: the message has the least budget that this
  // planner can meet and the step that sets it.
  RecomputePlan plan(const StepTrace& trace, int64_t budget_bytes, const RecomputeOptions& options) const;

  // As plan() in live bytes (options.offset_planner is not looked at), with what was found instead of the refusal:
  // where nothing fits, the schedule of the lowest peak found. The trace must be valid.
  virtual RecomputePlan best_effort(const StepTrace& trace, int64_t budget_bytes,
                                    const RecomputeOptions& options) const = 0;

  // May plan() change single runs of a plan whose arena does not fit (arena_loose_fit.h)? A planner with a rule for
  // what runs again keeps to it.
  virtual bool allows_single_runs() const { return false; }
};

// The plan for an order of runs, its figures included: what planners end with.
RecomputePlan make_plan(const StepTrace& trace, std::vector<int32_t> steps, std::string planner, int64_t work);

// All planners, the recommended one ("search") first. The list is explicit.
std::vector<std::unique_ptr<RecomputePlanner>> all_recompute_planners();

// Throws Error(config) naming the known planners.
std::unique_ptr<RecomputePlanner> make_recompute_planner(std::string_view name);

// Independent check, written the obvious way: runs the schedule step by step, counts the bytes, and sees that every
// input is there when used, that first runs keep the trace's order, that nothing runs twice that must not, and that the
// plan's figures are true. Returns the first fault as text, empty if the plan is valid.
std::string find_plan_fault(const StepTrace& trace, const RecomputePlan& plan);

}  // namespace tidemark::memory
