// Offsets for lifetimes: the arena's planners share this interface.
//
// To add a planner: one .h/.cc with a class derived from OffsetPlanner, one line in planner_list.cc; the conformance
// suite (planner_conformance_test.cc) runs over the list and picks it up.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "memory/trace/trace.h"

namespace tidemark::memory {

struct OffsetPlannerOptions {
  uint64_t seed = 1;
  // Search effort in units of the planner's own elementary moves, never seconds: the same trace, options and seed give
  // the same plan on every machine.
  int64_t work_limit = 20'000'000;
};

struct OffsetPlan {
  std::vector<int64_t> offsets;   // parallel to trace.buffers, bytes
  int64_t peak_bytes = 0;         // max over buffers of offset + bytes
  int64_t lower_bound_bytes = 0;  // proven: no plan has a lower peak
  bool proven_optimal = false;    // peak == lower bound, or the search was exhausted (then lower_bound_bytes == peak)
  int64_t work = 0;               // units spent
  std::string planner;            // which planner of the portfolio found it
};

enum class Fit {
  fits,
  impossible,
  unknown
};  // impossible is a proof; unknown means that the work limit ended the search

struct FitResult {
  Fit fit = Fit::unknown;
  OffsetPlan plan;  // complete if fit == fits, else offsets are empty
};

class OffsetPlanner {
 public:
  virtual ~OffsetPlanner() = default;

  virtual std::string_view name() const = 0;

  // The least peak it can find. Throws what validate(trace) throws.
  virtual OffsetPlan minimize(const Trace& trace, const OffsetPlannerOptions& options) const = 0;

  // Does it fit into capacity_bytes? The default minimises and compares; throws Error(config) if one buffer alone is
  // larger.
  virtual FitResult fit(const Trace& trace, int64_t capacity_bytes, const OffsetPlannerOptions& options) const;
};

// All planners, the recommended one ("portfolio") first. The list is explicit.
std::vector<std::unique_ptr<OffsetPlanner>> all_offset_planners();

// Throws Error(config) naming the known planners.
std::unique_ptr<OffsetPlanner> make_offset_planner(std::string_view name);

// Independent O(n^2) check, written the obvious way: sizes, alignment, fixed offsets, no two buffers that are live at
// one step share bytes (but for equal offsets inside an alias group), peak and lower bound as stated. Returns the first
// fault as text, empty if the plan is valid.
std::string find_plan_fault(const Trace& trace, const OffsetPlan& plan);

}  // namespace tidemark::memory
