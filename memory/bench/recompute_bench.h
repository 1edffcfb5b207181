// `tidemark bench recompute`: how good and how fast the recompute planners are on graphs.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "memory/recompute/frontier.h"
#include "memory/recompute/recompute_planner.h"

namespace tidemark::memory {

// A budget as it is written: "0.9" or "90%" of the peak without recomputation, "1.05ws" times the least conceivable
// peak, or bytes ("4GiB").
struct BudgetText {
  std::string text;
  // Throws Error(config) for what is none of these.
  int64_t resolve(const StepTrace& trace) const;
};

struct RecomputeBenchOptions {
  std::string planner = "search";
  std::vector<BudgetText> budgets;
  int frontier_points = 0;  // also the whole curve with so many budgets; 0: none
  // 1: the graph as it is. More: also relabelled copies with bytes x 3, costs x 7 and other seeds, of which the report
  // gives the median overhead and time.
  int variants = 1;
  int64_t work_limit = RecomputeOptions{}.work_limit;
  uint64_t seed = 1;
  std::string offset_planner = "portfolio";  // for the arena figures; empty: none
  bool check = true;                         // the O(n^2) simulation of every plan; not part of the times
};

struct RecomputeBenchRow {
  std::string graph;
  std::string budget;
  int64_t steps = 0;
  int64_t plain_peak_bytes = 0;
  int64_t budget_bytes = 0;
  bool reached = false;    // a plan within the budget was found; else peak_bytes is the lowest found
  int64_t peak_bytes = 0;  // live bytes, by the simulator
  double overhead = 0;     // of the graph as it is
  double overhead_lower_bound = 0;
  double median_overhead = 0;  // over the variants that were reached
  double worst_overhead = 0;
  int variants_reached = 0;
  int64_t least_conceivable_bytes = 0;
  int64_t arena_peak_bytes = 0;  // of the plan made for the arena; 0 if none fits
  double arena_overhead = 0;
  int64_t work = 0;
  // One thread, without reading and checking; medians over the variants.
  double cpu_seconds = 0;        // of planning for live bytes
  double bound_cpu_seconds = 0;  // of the lower bound
  double arena_cpu_seconds = 0;  // of planning for the arena, offsets included
};

struct RecomputeBenchFrontier {
  std::string graph;
  int64_t plain_peak_bytes = 0;
  double cpu_seconds = 0;  // without the bounds
  std::vector<FrontierPoint> points;
};

struct RecomputeBenchReport {
  RecomputeBenchOptions options;
  std::vector<RecomputeBenchRow> rows;
  std::vector<RecomputeBenchFrontier> frontiers;
};

// The same step trace with values renumbered, inputs in another order, bytes x byte_scale and costs x cost_scale.
StepTrace relabelled(const StepTrace& trace, uint64_t seed, int64_t byte_scale, int64_t cost_scale);

// Adds the trace's rows and its frontier. Throws what the planners throw for bad traces, and Error(data) if a plan
// fails the simulation; a budget out of reach is a row, not an error.
void bench_step_trace(const StepTrace& trace, RecomputeBenchReport& report);

// One JSON object.
std::string to_json(const RecomputeBenchReport& report);

// A table for people.
void print_table(const RecomputeBenchReport& report, std::ostream& out);

}  // namespace tidemark::memory
