#include "memory/recompute/step_trace.h"

#include <algorithm>

#include "base/error.h"
#include "memory/recompute/schedule.h"

namespace tidemark::memory {
namespace {

// Sums of this size are exact in a double, which the planners count in.
constexpr int64_t kMaxSum = int64_t{1} << 52;

class TraceCheck {
 public:
  explicit TraceCheck(const StepTrace& trace)
      : trace_(trace), made_by_(trace.values.size(), -1), overwritten_by_(trace.values.size(), -1) {}

  void run() {
    check_values();
    for (size_t i = 0; i < trace_.steps.size(); ++i) check_indices(static_cast<int32_t>(i));
    for (size_t i = 0; i < trace_.steps.size(); ++i) check_order(static_cast<int32_t>(i));
    for (size_t i = 0; i < trace_.values.size(); ++i)
      if (trace_.values[i].live_at_end && overwritten_by_[i] >= 0)
        fail(value_text(static_cast<int32_t>(i)) + " is live at the end, but " + step_text(overwritten_by_[i]) +
             " overwrites it");
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Error(ErrorCode::data, trace_.name + ": " + what); }

  std::string step_text(int32_t step) const {
    return "step " + std::to_string(step) + " '" + trace_.steps[step].name + "'";
  }
  std::string value_text(int32_t value) const {
    return "value " + std::to_string(value) + " '" + trace_.values[value].name + "'";
  }

  void add(int64_t& sum, int64_t amount, const std::string& object, const char* what) const {
    if (amount < 0) fail(object + " has " + what + " " + std::to_string(amount) + ", which is negative");
    if (amount > kMaxSum - sum) fail(object + ": the " + what + " of all add up to more than 2^52");
    sum += amount;
  }

  void check_values() const {
    int64_t sum = 0;
    add(sum, trace_.fixed_bytes, "the trace", "bytes");
    for (size_t i = 0; i < trace_.values.size(); ++i) {
      const StepValue& value = trace_.values[i];
      const std::string text = value_text(static_cast<int32_t>(i));
      add(sum, value.bytes, text, "bytes");
      if (value.alignment < 1 || (value.alignment & (value.alignment - 1)) != 0)
        fail(text + " has alignment " + std::to_string(value.alignment) + ", which is no power of two");
    }
    int64_t cost = 0;
    int64_t workspaces = 0;
    for (size_t i = 0; i < trace_.steps.size(); ++i) {
      add(cost, trace_.steps[i].cost, step_text(static_cast<int32_t>(i)), "cost");
      add(workspaces, trace_.steps[i].workspace_bytes, step_text(static_cast<int32_t>(i)), "workspace");
    }
  }

  void check_indices(int32_t index) {
    const Step& step = trace_.steps[index];
    const auto count = static_cast<int32_t>(trace_.values.size());
    for (const std::vector<int32_t>* list : {&step.inputs, &step.outputs})
      for (int32_t v : *list)
        if (v < 0 || v >= count)
          fail(step_text(index) + " names value " + std::to_string(v) + ", there are " + std::to_string(count));
    for (int32_t v : step.outputs) {
      if (made_by_[v] >= 0) fail(value_text(v) + " is made by " + step_text(made_by_[v]) + " and " + step_text(index));
      made_by_[v] = index;
    }
  }

  void check_order(int32_t index) {
    const Step& step = trace_.steps[index];
    for (int32_t v : step.inputs) {
      if (made_by_[v] >= index) fail(step_text(index) + " reads " + value_text(v) + " before it is made");
      if (overwritten_by_[v] >= 0)
        fail(step_text(index) + " reads " + value_text(v) + ", which " + step_text(overwritten_by_[v]) + " overwrote");
    }
    for (int32_t v : step.outputs) check_predecessor(index, v);
  }

  void check_predecessor(int32_t index, int32_t v) {
    const StepValue& value = trace_.values[v];
    if (!value.predecessor) return;
    const std::vector<int32_t>& inputs = trace_.steps[index].inputs;
    const int32_t before = *value.predecessor;
    if (std::find(inputs.begin(), inputs.end(), before) == inputs.end())
      fail(value_text(v) + " has the predecessor " + std::to_string(before) + ", which is no input of " +
           step_text(index));
    if (value.reuse != Reuse::overwrites) return;
    if (overwritten_by_[before] >= 0) fail(value_text(before) + " is overwritten twice");
    overwritten_by_[before] = index;
  }

  const StepTrace& trace_;
  std::vector<int32_t> made_by_;
  std::vector<int32_t> overwritten_by_;
};

// First and last step at which every value is needed in the trace's own order.
struct NeededRange {
  int32_t first = 0;
  int32_t last = -1;
  bool repeatable = false;
};

std::vector<NeededRange> needed_ranges(const StepTrace& trace) {
  std::vector<NeededRange> ranges(trace.values.size());
  for (size_t i = 0; i < trace.steps.size(); ++i) {
    const auto step = static_cast<int32_t>(i);
    for (int32_t v : trace.steps[i].inputs) ranges[v].last = step;
    for (int32_t v : trace.steps[i].outputs) ranges[v] = {step, step, trace.steps[i].may_run_twice};
  }
  for (size_t v = 0; v < ranges.size(); ++v)
    if (trace.values[v].live_at_end) ranges[v].last = static_cast<int32_t>(trace.steps.size()) - 1;
  return ranges;
}

int64_t counted_bytes(const StepValue& value) { return value.persistent ? 0 : value.bytes; }

int64_t bytes_taken_over(const StepTrace& trace, const Step& step) {
  int64_t bytes = 0;
  for (int32_t v : step.outputs)
    if (trace.values[v].predecessor)
      bytes += std::min(counted_bytes(trace.values[v]), counted_bytes(trace.values[*trace.values[v].predecessor]));
  return bytes;
}

}  // namespace

void validate(const StepTrace& trace) { TraceCheck(trace).run(); }

bool has_plannable_sums(const StepTrace& trace) {
  int64_t bytes = 0, workspaces = 0, cost = 0;
  const auto add = [](int64_t& sum, int64_t amount) { sum += std::min(amount, kMaxSum + 1 - sum); };
  add(bytes, trace.fixed_bytes);
  for (const StepValue& value : trace.values) add(bytes, value.bytes);
  for (const Step& step : trace.steps) {
    add(workspaces, step.workspace_bytes);
    add(cost, step.cost);
  }
  return std::max({bytes, workspaces, cost}) <= kMaxSum;
}

int64_t total_cost(const StepTrace& trace) {
  int64_t cost = 0;
  for (const Step& step : trace.steps) cost += step.cost;
  return cost;
}

LivePeak plain_peak(const StepTrace& trace) {
  const SchedulePeak peak = live_peak(trace, make_schedule(trace, plain_order(trace)));
  return {peak.bytes, static_cast<int32_t>(peak.position)};
}

LivePeak least_conceivable_peak(const StepTrace& trace) {
  const std::vector<NeededRange> ranges = needed_ranges(trace);
  const size_t steps = trace.steps.size();
  std::vector<int64_t> waiting(steps + 1, 0);  // differences: bytes of what cannot be made again
  for (size_t v = 0; v < ranges.size(); ++v) {
    if (ranges[v].repeatable || ranges[v].last < ranges[v].first) continue;
    waiting[ranges[v].first] += counted_bytes(trace.values[v]);
    waiting[ranges[v].last + 1] -= counted_bytes(trace.values[v]);
  }
  LivePeak peak{trace.fixed_bytes, 0};
  int64_t across = trace.fixed_bytes;
  std::vector<int32_t> seen(trace.values.size(), -1);
  for (size_t i = 0; i < steps; ++i) {
    const Step& step = trace.steps[i];
    across += waiting[i];
    int64_t bytes = across + step.workspace_bytes - bytes_taken_over(trace, step);
    for (const std::vector<int32_t>* list : {&step.inputs, &step.outputs})
      for (int32_t v : *list) {
        if (seen[v] != static_cast<int32_t>(i) && ranges[v].repeatable) bytes += counted_bytes(trace.values[v]);
        seen[v] = static_cast<int32_t>(i);
      }
    if (bytes > peak.bytes) peak = {bytes, static_cast<int32_t>(i)};
  }
  return peak;
}

}  // namespace tidemark::memory
