#include "memory/recompute/schedule.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace tidemark::memory {
namespace {

class InstanceMaker {
 public:
  InstanceMaker(const StepTrace& trace, const std::vector<int32_t>& steps)
      : trace_(trace), steps_(steps), latest_(trace.values.size(), -1) {}

  std::vector<ValueInstance> run() {
    std::vector<bool> made(trace_.values.size(), false);
    for (const Step& step : trace_.steps)
      for (int32_t v : step.outputs) made[v] = true;
    for (size_t v = 0; v < made.size(); ++v)
      if (!made[v]) start(static_cast<int32_t>(v), 0, 0);
    for (size_t position = 0; position < steps_.size(); ++position) add_run(static_cast<int64_t>(position));
    for (size_t v = 0; v < made.size(); ++v)
      if (trace_.values[v].live_at_end && latest_[v] >= 0) keep_to_the_end(latest_[v]);
    find_takeovers();
    return std::move(instances_);
  }

 private:
  void start(int32_t v, int64_t begin, int64_t end) {
    if (trace_.values[v].persistent) return;
    latest_[v] = static_cast<int32_t>(instances_.size());
    instances_.push_back({v, begin, end, -1});
    source_.push_back(-1);
  }

  void add_run(int64_t position) {
    const Step& step = trace_.steps[steps_[position]];
    for (int32_t v : step.inputs) {
      if (trace_.values[v].persistent) continue;
      TM_CHECK(latest_[v] >= 0, "value " + std::to_string(v) + " is read before it is made");
      instances_[latest_[v]].end = position + 1;
    }
    for (int32_t v : step.outputs) {
      const std::optional<int32_t>& before = trace_.values[v].predecessor;
      const int32_t source = before ? latest_[*before] : -1;
      start(v, position, position + 1);
      if (!trace_.values[v].persistent) source_.back() = source;
    }
  }

  void keep_to_the_end(int32_t instance) {
    instances_[instance].end = static_cast<int64_t>(steps_.size());
    results_.push_back(instance);
  }

  // Known only when all ends are: a copy that somebody reads later keeps its bytes, and so does a result. One taker
  // each, the first.
  void find_takeovers() {
    std::vector<bool> taken(instances_.size(), false);
    for (int32_t result : results_) taken[result] = true;
    for (size_t i = 0; i < instances_.size(); ++i) {
      const int32_t source = source_[i];
      if (source < 0 || taken[source] || instances_[source].end != instances_[i].begin + 1) continue;
      instances_[i].takes_over = source;
      taken[source] = true;
    }
  }

  const StepTrace& trace_;
  const std::vector<int32_t>& steps_;
  std::vector<int32_t> latest_;  // instance of every value
  std::vector<ValueInstance> instances_;
  std::vector<int32_t> results_;  // instances that are live at the end
  std::vector<int32_t> source_;   // of every instance: the instance whose bytes it may take over
};

}  // namespace

std::vector<int32_t> plain_order(const StepTrace& trace) {
  std::vector<int32_t> order(trace.steps.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

Schedule make_schedule(const StepTrace& trace, std::vector<int32_t> steps) {
  Schedule schedule;
  schedule.instances = InstanceMaker(trace, steps).run();
  schedule.steps = std::move(steps);
  return schedule;
}

SchedulePeak live_peak(const StepTrace& trace, const Schedule& schedule) {
  const size_t positions = schedule.steps.size();
  std::vector<int64_t> change(positions + 2, 0);
  for (const ValueInstance& instance : schedule.instances) {
    if (instance.end <= instance.begin) continue;
    const int64_t bytes = trace.values[instance.value].bytes;
    change[instance.begin] += bytes;
    change[instance.end] -= bytes;
    if (instance.takes_over < 0) continue;
    const int64_t shared = std::min(bytes, trace.values[schedule.instances[instance.takes_over].value].bytes);
    change[instance.begin] -= shared;
    change[instance.begin + 1] += shared;
  }
  SchedulePeak peak{trace.fixed_bytes, 0};
  int64_t live = trace.fixed_bytes;
  for (size_t i = 0; i < positions; ++i) {
    live += change[i];
    const int64_t bytes = live + trace.steps[schedule.steps[i]].workspace_bytes;
    if (bytes > peak.bytes) peak = {bytes, static_cast<int64_t>(i)};
  }
  return peak;
}

int64_t schedule_cost(const StepTrace& trace, const Schedule& schedule) {
  int64_t cost = 0;
  for (int32_t step : schedule.steps) cost += trace.steps[step].cost;
  return cost;
}

Trace arena_trace(const StepTrace& trace, const Schedule& schedule) {
  Trace out;
  out.name = trace.name;
  std::vector<int64_t> group(schedule.instances.size());
  std::vector<bool> shares(schedule.instances.size(), false);
  for (size_t i = 0; i < group.size(); ++i) {
    const int32_t source = schedule.instances[i].takes_over;
    group[i] = source < 0 ? static_cast<int64_t>(i) : group[source];
    if (source >= 0) shares[i] = shares[source] = true;
  }
  for (size_t i = 0; i < group.size(); ++i) {
    const ValueInstance& instance = schedule.instances[i];
    const StepValue& value = trace.values[instance.value];
    if (value.bytes == 0 || instance.end <= instance.begin) continue;
    Buffer buffer{static_cast<int64_t>(i), value.bytes, value.alignment, {{instance.begin, instance.end}}};
    if (shares[i]) buffer.alias_group = group[i];
    out.buffers.push_back(buffer);
  }
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    const int64_t bytes = trace.steps[schedule.steps[i]].workspace_bytes;
    const auto position = static_cast<int64_t>(i);
    if (bytes > 0)
      out.buffers.push_back(
          {static_cast<int64_t>(group.size()) + position, bytes, 1, {{position, position + 1}}, Category::workspace});
  }
  return out;
}

}  // namespace tidemark::memory
