#include "memory/recompute/random_step_trace.h"

#include <algorithm>

#include "memory/recompute/search/random.h"

namespace tidemark::memory {
namespace {

class TraceMaker {
 public:
  explicit TraceMaker(const RandomStepTraceOptions& options) : options_(options), random_(options.seed) {}

  StepTrace run() {
    trace_.name = "random " + std::to_string(options_.seed);
    for (int i = 0; i < options_.steps; ++i) add_step(i);
    for (StepValue& value : trace_.values)
      if (!gone_[&value - trace_.values.data()] && chance(options_.result_percent)) value.live_at_end = true;
    return std::move(trace_);
  }

 private:
  bool chance(int percent) { return random_.below(100) < percent; }

  int32_t add_value(const std::string& name) {
    StepValue value;
    value.bytes = 1 + random_.below(options_.max_bytes);
    value.alignment = int64_t{1} << random_.below(4);
    value.name = name;
    if (chance(options_.persistent_percent)) {
      value.persistent = true;
      trace_.fixed_bytes += value.bytes;
    }
    trace_.values.push_back(value);
    gone_.push_back(false);
    return static_cast<int32_t>(trace_.values.size()) - 1;
  }

  void read(Step& step, int32_t value) {
    if (gone_[value] || std::find(step.inputs.begin(), step.inputs.end(), value) != step.inputs.end()) return;
    step.inputs.push_back(value);
  }

  void choose_inputs(Step& step, int index) {
    const auto made = static_cast<int64_t>(first_output_.size());
    if (made > 0) read(step, first_output_.back());
    if (made > 0 && chance(40)) read(step, first_output_[random_.below(made)]);
    const int mirror = options_.steps - 1 - index;
    if (options_.mirrored && mirror < index && mirror >= 0) read(step, first_output_[mirror]);
    if (chance(options_.external_percent)) read(step, add_value("given" + std::to_string(index)));
  }

  void add_step(int index) {
    Step step;
    step.name = "step" + std::to_string(index);
    step.cost = random_.below(options_.max_cost + 1);
    step.may_run_twice = !chance(options_.no_repeat_percent);
    if (chance(options_.workspace_percent)) step.workspace_bytes = 1 + random_.below(options_.max_bytes);
    choose_inputs(step, index);
    const int32_t output = add_value("value" + std::to_string(index));
    step.outputs.push_back(output);
    if (chance(options_.second_output_percent)) step.outputs.push_back(add_value("extra" + std::to_string(index)));
    if (!step.inputs.empty()) {
      if (chance(options_.overwrites_percent)) {
        const int32_t before = step.inputs.back();
        trace_.values[output].predecessor = before;
        trace_.values[output].reuse = Reuse::overwrites;
        gone_[before] = true;
      } else if (chance(options_.takes_over_percent)) {
        trace_.values[output].predecessor = step.inputs[random_.below(static_cast<int64_t>(step.inputs.size()))];
      }
    }
    first_output_.push_back(output);
    trace_.steps.push_back(std::move(step));
  }

  const RandomStepTraceOptions options_;
  recompute::Random random_;
  StepTrace trace_;
  std::vector<bool> gone_;  // overwritten
  std::vector<int32_t> first_output_;
};

}  // namespace

StepTrace random_step_trace(const RandomStepTraceOptions& options) { return TraceMaker(options).run(); }

}  // namespace tidemark::memory
