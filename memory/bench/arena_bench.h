// `tidemark bench arena`: how good and how fast the offset planners are on traces.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "memory/arena/offset_planner.h"
#include "memory/trace/trace.h"

namespace tidemark::memory {

struct ArenaBenchOptions {
  std::string planner = "portfolio";
  // Decide whether each trace fits into this many bytes; without it the least peak is looked for.
  std::optional<int64_t> capacity_bytes;
  // With a capacity: look for the least peak all the same, and compare.
  bool minimize = false;
  // 1: the trace as it is. More: variants of it (trace_variant.h), of which the report gives the median time.
  int variants = 1;
  int64_t work_limit = 20'000'000;
  // The O(n^2) check of every plan; not part of the time.
  bool check = true;
};

struct ArenaBenchRow {
  std::string file;
  int64_t buffers = 0;
  int64_t lower_bound_bytes = 0;  // of variant 0, as all that follows but the times
  int64_t peak_bytes = 0;         // 0 if no plan was found for the capacity
  bool proven_optimal = false;
  std::optional<bool> fits;  // with a capacity: a plan for it was found
  bool proven_impossible = false;
  std::string planner;  // which part of a portfolio found it
  int64_t work = 0;
  double cpu_seconds = 0;  // of one thread, without reading; median over the variants
  double least_cpu_seconds = 0, most_cpu_seconds = 0;
  int64_t worst_peak_bytes = 0;  // over the variants, divided by their scale
  int variants = 1;
  int variants_solved = 1;  // fits, or without a capacity: proven optimal
};

struct ArenaBenchReport {
  ArenaBenchOptions options;
  std::vector<ArenaBenchRow> rows;
  double cpu_seconds = 0;          // sum of the rows' medians
  int64_t process_peak_bytes = 0;  // largest resident size of this process so far
};

// Plans one trace. Throws what the planner throws, and Error(data) if a plan fails the check. `plan` gets the plan of
// variant 0 if not null.
ArenaBenchRow bench_trace(const Trace& trace, const ArenaBenchOptions& options, OffsetPlan* plan = nullptr);

// Reads and plans every file.
ArenaBenchReport run_arena_bench(const std::vector<std::string>& files, const ArenaBenchOptions& options);

// Adds the sums over the rows.
ArenaBenchReport summarize(std::vector<ArenaBenchRow> rows, const ArenaBenchOptions& options);

// One JSON object.
std::string to_json(const ArenaBenchReport& report);

// A table for people.
void print_table(const ArenaBenchReport& report, std::ostream& out);

}  // namespace tidemark::memory
