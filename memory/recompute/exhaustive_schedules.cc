#include "memory/recompute/exhaustive_schedules.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "memory/recompute/schedule.h"

namespace tidemark::memory {
namespace {

bool overwrites(const StepTrace& trace, int32_t step) {
  const std::vector<int32_t>& outputs = trace.steps[step].outputs;
  return std::any_of(outputs.begin(), outputs.end(), [&](int32_t v) {
    return trace.values[v].predecessor && trace.values[v].reuse == Reuse::overwrites;
  });
}

// First step that overwrites an input of `step`; the number of steps if none does.
int32_t first_overwrite(const StepTrace& trace, int32_t step) {
  for (int32_t s = 0; s < static_cast<int32_t>(trace.steps.size()); ++s)
    for (int32_t v : trace.steps[s].outputs) {
      const StepValue& value = trace.values[v];
      const std::vector<int32_t>& inputs = trace.steps[step].inputs;
      if (value.predecessor && value.reuse == Reuse::overwrites &&
          std::find(inputs.begin(), inputs.end(), *value.predecessor) != inputs.end())
        return s;
    }
  return static_cast<int32_t>(trace.steps.size());
}

}  // namespace

std::vector<ExhaustivePoint> exhaustive_frontier(const StepTrace& trace) {
  std::vector<std::pair<int32_t, int32_t>> pairs;  // (stage, step)
  const auto steps = static_cast<int32_t>(trace.steps.size());
  const bool has_results =
      std::any_of(trace.values.begin(), trace.values.end(), [](const StepValue& value) { return value.live_at_end; });
  for (int32_t stage = 0; stage < steps + (has_results ? 1 : 0); ++stage)
    for (int32_t step = 0; step < stage; ++step)
      if (trace.steps[step].may_run_twice && !overwrites(trace, step) && stage <= first_overwrite(trace, step))
        pairs.emplace_back(stage, step);
  TM_CHECK(pairs.size() <= 21, "too many steps to try all schedules");
  std::vector<ExhaustivePoint> points;
  for (uint32_t set = 0; set < (uint32_t{1} << pairs.size()); ++set) {
    std::vector<int32_t> order;
    size_t pair = 0;
    for (int32_t stage = 0; stage <= steps; ++stage) {
      for (; pair < pairs.size() && pairs[pair].first == stage; ++pair)
        if ((set >> pair & 1) != 0) order.push_back(pairs[pair].second);
      if (stage < steps) order.push_back(stage);
    }
    const Schedule schedule = make_schedule(trace, std::move(order));
    points.push_back({live_peak(trace, schedule).bytes, schedule_cost(trace, schedule) - total_cost(trace)});
  }
  std::sort(points.begin(), points.end(), [](const ExhaustivePoint& a, const ExhaustivePoint& b) {
    return a.peak_bytes != b.peak_bytes ? a.peak_bytes < b.peak_bytes : a.extra_cost < b.extra_cost;
  });
  std::vector<ExhaustivePoint> frontier;
  for (const ExhaustivePoint& point : points)
    if (frontier.empty() || point.extra_cost < frontier.back().extra_cost) frontier.push_back(point);
  return frontier;
}

}  // namespace tidemark::memory
