#include "memory/bench/recompute_bench.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "base/bytes.h"
#include "base/error.h"
#include "base/thread_time.h"
#include "memory/recompute/overhead_bound.h"
#include "memory/recompute/search/random.h"

namespace tidemark::memory {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void check(const StepTrace& trace, const RecomputePlan& plan) {
  const std::string fault = find_plan_fault(trace, plan);
  if (!fault.empty()) throw Error(ErrorCode::data, trace.name + ": planner " + plan.planner + ": " + fault);
}

struct Variant {
  StepTrace trace;
  int64_t byte_scale = 1;
  uint64_t seed = 1;
};

Variant make_variant(const StepTrace& trace, const RecomputeBenchOptions& options, int number) {
  if (number == 0) return {trace, 1, options.seed};
  const int64_t byte_scale = number % 2 == 0 ? 1 : 3;
  const uint64_t seed = options.seed + static_cast<uint64_t>(number);
  return {relabelled(trace, seed, byte_scale, number % 3 == 0 ? 1 : 7), byte_scale, seed};
}

class RowMaker {
 public:
  RowMaker(const StepTrace& trace, const BudgetText& budget, const RecomputeBenchOptions& options)
      : trace_(trace), options_(options), planner_(make_recompute_planner(options.planner)) {
    row_.graph = trace.name;
    row_.budget = budget.text;
    row_.steps = static_cast<int64_t>(trace.steps.size());
    row_.plain_peak_bytes = plain_peak(trace).bytes;
    row_.least_conceivable_bytes = least_conceivable_peak(trace).bytes;
    row_.budget_bytes = budget.resolve(trace);
  }

  RecomputeBenchRow run() {
    for (int i = 0; i < options_.variants; ++i) plan_variant(make_variant(trace_, options_, i), i == 0);
    row_.cpu_seconds = median(seconds_);
    row_.median_overhead = median(overheads_);
    row_.variants_reached = static_cast<int>(overheads_.size());
    for (double overhead : overheads_) row_.worst_overhead = std::max(row_.worst_overhead, overhead);
    if (row_.reached) find_bound();
    if (row_.reached && !options_.offset_planner.empty()) plan_for_arena();
    return row_;
  }

 private:
  RecomputeOptions planner_options(uint64_t seed) const {
    RecomputeOptions options;
    options.seed = seed;
    options.work_limit = options_.work_limit;
    options.bound_work_limit = 0;
    return options;
  }

  void plan_variant(const Variant& variant, bool first) {
    const int64_t budget = row_.budget_bytes * variant.byte_scale;
    const double start = thread_cpu_seconds();
    const RecomputePlan plan = planner_->best_effort(variant.trace, budget, planner_options(variant.seed));
    seconds_.push_back(thread_cpu_seconds() - start);
    if (options_.check) check(variant.trace, plan);
    const bool reached = plan.peak_live_bytes <= budget;
    if (reached) overheads_.push_back(plan.overhead);
    if (!first) return;
    row_.reached = reached;
    row_.peak_bytes = plan.peak_live_bytes;
    row_.overhead = plan.overhead;
    row_.work = plan.work;
    extra_cost_ = plan.extra_cost;
  }

  void find_bound() {
    OverheadBoundOptions bound;
    bound.known_cost = extra_cost_;
    const double start = thread_cpu_seconds();
    const int64_t least = extra_cost_lower_bound(trace_, row_.budget_bytes, bound);
    row_.bound_cpu_seconds = thread_cpu_seconds() - start;
    const auto cost = static_cast<double>(std::max<int64_t>(total_cost(trace_), 1));
    row_.overhead_lower_bound = static_cast<double>(least) / cost;
  }

  void plan_for_arena() {
    const std::unique_ptr<OffsetPlanner> offsets = make_offset_planner(options_.offset_planner);
    RecomputeOptions options = planner_options(options_.seed);
    options.offset_planner = offsets.get();
    const double start = thread_cpu_seconds();
    try {
      const RecomputePlan plan = planner_->plan(trace_, row_.budget_bytes, options);
      row_.arena_cpu_seconds = thread_cpu_seconds() - start;
      row_.arena_peak_bytes = plan.peak_arena_bytes;
      row_.arena_overhead = plan.overhead;
      if (options_.check) check(trace_, plan);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::out_of_memory) throw;
      row_.arena_cpu_seconds = thread_cpu_seconds() - start;
    }
  }

  const StepTrace& trace_;
  const RecomputeBenchOptions& options_;
  const std::unique_ptr<RecomputePlanner> planner_;
  RecomputeBenchRow row_;
  int64_t extra_cost_ = 0;
  std::vector<double> seconds_;
  std::vector<double> overheads_;
};

RecomputeBenchFrontier bench_frontier(const StepTrace& trace, const RecomputeBenchOptions& options) {
  RecomputeBenchFrontier out;
  out.graph = trace.name;
  out.plain_peak_bytes = plain_peak(trace).bytes;
  RecomputeOptions planner_options;
  planner_options.seed = options.seed;
  planner_options.work_limit = options.work_limit;
  planner_options.bound_work_limit = 0;
  const std::vector<int64_t> budgets = frontier_budgets(trace, options.frontier_points);
  const double start = thread_cpu_seconds();
  out.points = frontier(trace, budgets, planner_options);
  out.cpu_seconds = thread_cpu_seconds() - start;
  for (FrontierPoint& point : out.points) {
    if (!point.reached) continue;
    if (options.check) check(trace, point.plan);
    OverheadBoundOptions bound;
    bound.known_cost = point.plan.extra_cost;
    point.plan.extra_cost_lower_bound = extra_cost_lower_bound(trace, point.budget_bytes, bound);
    point.plan.overhead_lower_bound = static_cast<double>(point.plan.extra_cost_lower_bound) /
                                      static_cast<double>(std::max<int64_t>(total_cost(trace), 1));
  }
  return out;
}

}  // namespace

int64_t BudgetText::resolve(const StepTrace& trace) const {
  double factor = 0;
  const char* end = text.data() + text.size();
  const auto [rest, fault] = std::from_chars(text.data(), end, factor);
  const std::string_view unit(rest, static_cast<size_t>(end - rest));
  if (fault == std::errc() && factor > 0) {
    if (unit == "ws") return static_cast<int64_t>(factor * static_cast<double>(least_conceivable_peak(trace).bytes));
    const double share = unit == "%" ? factor / 100 : factor;
    if (unit == "%" || (unit.empty() && factor <= 1))
      return static_cast<int64_t>(share * static_cast<double>(plain_peak(trace).bytes));
    return parse_bytes(text);
  }
  throw Error(ErrorCode::config,
              "budget '" + text + "' is no share (0.9, 90%), multiple of the working set (1.05ws) or size (4GiB)");
}

StepTrace relabelled(const StepTrace& trace, uint64_t seed, int64_t byte_scale, int64_t cost_scale) {
  recompute::Random random(seed);
  std::vector<int32_t> number(trace.values.size());
  std::iota(number.begin(), number.end(), 0);
  const auto shuffle = [&](std::vector<int32_t>& list) {
    for (size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[random.below(static_cast<int64_t>(i))]);
  };
  shuffle(number);
  StepTrace out;
  out.name = trace.name;
  out.fixed_bytes = trace.fixed_bytes * byte_scale;
  out.steps = trace.steps;
  out.values.resize(trace.values.size());
  for (Step& step : out.steps) {
    step.cost *= cost_scale;
    step.workspace_bytes *= byte_scale;
    for (std::vector<int32_t>* list : {&step.inputs, &step.outputs}) {
      for (int32_t& v : *list) v = number[v];
      shuffle(*list);
    }
  }
  for (size_t v = 0; v < trace.values.size(); ++v) {
    StepValue value = trace.values[v];
    value.bytes *= byte_scale;
    if (value.predecessor) value.predecessor = number[*value.predecessor];
    out.values[number[v]] = std::move(value);
  }
  return out;
}

void bench_step_trace(const StepTrace& trace, RecomputeBenchReport& report) {
  validate(trace);
  for (const BudgetText& budget : report.options.budgets)
    report.rows.push_back(RowMaker(trace, budget, report.options).run());
  if (report.options.frontier_points > 0) report.frontiers.push_back(bench_frontier(trace, report.options));
}

}  // namespace tidemark::memory
