#include "memory/bench/arena_bench.h"

#include <sys/resource.h>

#include <algorithm>

#include "base/error.h"
#include "base/thread_time.h"
#include "memory/bench/trace_variant.h"
#include "memory/trace/trace_csv.h"

namespace tidemark::memory {
namespace {

struct Run {
  OffsetPlan plan;
  bool has_plan = false, fits = false, impossible = false;
  double cpu_seconds = 0;
};

Run plan_once(const TraceVariant& variant, const OffsetPlanner& planner, const ArenaBenchOptions& options) {
  OffsetPlannerOptions planner_options;
  planner_options.seed = variant.planner_seed;
  planner_options.work_limit = options.work_limit;
  Run run;
  const double start = thread_cpu_seconds();
  if (options.capacity_bytes && !options.minimize) {
    FitResult result = planner.fit(variant.trace, *options.capacity_bytes * variant.scale, planner_options);
    run.fits = result.fit == Fit::fits;
    run.impossible = result.fit == Fit::impossible;
    run.has_plan = run.fits;
    run.plan = std::move(result.plan);
  } else {
    run.plan = planner.minimize(variant.trace, planner_options);
    run.has_plan = true;
    const int64_t capacity = options.capacity_bytes ? *options.capacity_bytes * variant.scale : 0;
    run.fits = options.capacity_bytes && run.plan.peak_bytes <= capacity;
    run.impossible = options.capacity_bytes && run.plan.lower_bound_bytes > capacity;
  }
  run.cpu_seconds = thread_cpu_seconds() - start;
  if (!options.check || !run.has_plan) return run;
  const std::string fault = find_plan_fault(variant.trace, run.plan);
  if (!fault.empty()) throw Error(ErrorCode::data, variant.trace.name + ": planner " + options.planner + ": " + fault);
  return run;
}

void fill_from_first(ArenaBenchRow& row, const Run& run, const ArenaBenchOptions& options) {
  row.lower_bound_bytes = run.plan.lower_bound_bytes;
  row.peak_bytes = run.has_plan ? run.plan.peak_bytes : 0;
  row.proven_optimal = run.has_plan && run.plan.proven_optimal;
  row.proven_impossible = run.impossible;
  row.planner = run.plan.planner;
  row.work = run.plan.work;
  if (options.capacity_bytes) row.fits = run.fits;
}

int64_t process_peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace

ArenaBenchRow bench_trace(const Trace& trace, const ArenaBenchOptions& options, OffsetPlan* plan) {
  const std::unique_ptr<OffsetPlanner> planner = make_offset_planner(options.planner);
  ArenaBenchRow row;
  row.file = trace.name;
  row.buffers = static_cast<int64_t>(trace.buffers.size());
  row.variants = options.variants;
  row.variants_solved = 0;
  std::vector<double> times;
  for (int number = 0; number < options.variants; ++number) {
    const TraceVariant variant = make_variant(trace, static_cast<uint64_t>(number));
    const Run run = plan_once(variant, *planner, options);
    times.push_back(run.cpu_seconds);
    row.variants_solved += options.capacity_bytes ? run.fits : run.plan.proven_optimal;
    if (run.has_plan) row.worst_peak_bytes = std::max(row.worst_peak_bytes, run.plan.peak_bytes / variant.scale);
    if (number > 0) continue;
    fill_from_first(row, run, options);
    if (plan != nullptr) *plan = run.plan;
  }
  std::sort(times.begin(), times.end());
  row.cpu_seconds = times[times.size() / 2];
  row.least_cpu_seconds = times.front();
  row.most_cpu_seconds = times.back();
  return row;
}

ArenaBenchReport summarize(std::vector<ArenaBenchRow> rows, const ArenaBenchOptions& options) {
  ArenaBenchReport report{options, std::move(rows), 0, process_peak_bytes()};
  for (const ArenaBenchRow& row : report.rows) report.cpu_seconds += row.cpu_seconds;
  return report;
}

ArenaBenchReport run_arena_bench(const std::vector<std::string>& files, const ArenaBenchOptions& options) {
  std::vector<ArenaBenchRow> rows;
  for (const std::string& file : files) rows.push_back(bench_trace(read_csv_file(file), options));
  return summarize(std::move(rows), options);
}

}  // namespace tidemark::memory
