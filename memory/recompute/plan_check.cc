// The independent simulator. Deliberately shares no code with the planners or with schedule.cc.
#include <map>
#include <set>

#include "memory/recompute/recompute_planner.h"

namespace tidemark::memory {
namespace {

class Simulator {
 public:
  Simulator(const StepTrace& trace, const RecomputePlan& plan) : trace_(trace), plan_(plan) {}

  std::string run() {
    std::string fault = check_order();
    if (fault.empty()) fault = check_copies();
    for (size_t i = 0; fault.empty() && i < plan_.schedule.steps.size(); ++i) fault = run_step(static_cast<int64_t>(i));
    if (fault.empty()) fault = check_end();
    if (fault.empty()) fault = check_figures();
    if (fault.empty() && !plan_.offsets.offsets.empty()) fault = check_arena();
    return fault;
  }

 private:
  std::string at(int64_t position) const {
    const int32_t step = plan_.schedule.steps[position];
    return "position " + std::to_string(position) + ", step " + std::to_string(step) + " '" + trace_.steps[step].name +
           "': ";
  }

  bool overwrites(const Step& step) const {
    for (int32_t v : step.outputs)
      if (trace_.values[v].predecessor && trace_.values[v].reuse == Reuse::overwrites) return true;
    return false;
  }

  std::string check_order() const {
    std::set<int32_t> seen;
    int32_t next = 0;
    for (size_t i = 0; i < plan_.schedule.steps.size(); ++i) {
      const int32_t step = plan_.schedule.steps[i];
      if (step < 0 || step >= static_cast<int32_t>(trace_.steps.size())) return "unknown step " + std::to_string(step);
      if (!seen.insert(step).second) {
        if (!trace_.steps[step].may_run_twice || overwrites(trace_.steps[step]))
          return at(static_cast<int64_t>(i)) + "runs again, but must not";
      } else if (step != next++) {
        return at(static_cast<int64_t>(i)) + "first runs are not in the trace's order";
      }
    }
    return next == static_cast<int32_t>(trace_.steps.size()) ? "" : "step " + std::to_string(next) + " never runs";
  }

  std::string check_copies() {
    const auto positions = static_cast<int64_t>(plan_.schedule.steps.size());
    for (size_t i = 0; i < plan_.schedule.instances.size(); ++i) {
      const ValueInstance& copy = plan_.schedule.instances[i];
      const std::string name = "copy " + std::to_string(i) + " of value " + std::to_string(copy.value);
      if (copy.value < 0 || copy.value >= static_cast<int32_t>(trace_.values.size())) return name + ": unknown value";
      if (trace_.values[copy.value].persistent) return name + ": the value is persistent";
      if (copy.begin < 0 || copy.end < copy.begin || copy.end > positions) return name + ": impossible lifetime";
      if (copy.takes_over < 0) continue;
      const ValueInstance& before = plan_.schedule.instances[copy.takes_over];
      if (trace_.values[copy.value].predecessor != before.value || before.end != copy.begin + 1)
        return name + " takes over bytes that it must not";
      if (trace_.values[before.value].live_at_end && before.end == positions)
        return name + " takes over the bytes of a result";
      if (!taken_.insert(copy.takes_over).second) return name + " takes over bytes that another took";
    }
    return "";
  }

  // The copy of a value that holds its contents at a position: made by the latest run of its step before.
  const ValueInstance* live_copy(int32_t value, int64_t position) const {
    const ValueInstance* found = nullptr;
    for (const ValueInstance& copy : plan_.schedule.instances)
      if (copy.value == value && copy.begin <= position && position < copy.end && filled_.count(&copy) > 0)
        found = &copy;
    return found;
  }

  bool made_by_a_step(int32_t value) const {
    for (const Step& step : trace_.steps)
      for (int32_t v : step.outputs)
        if (v == value) return true;
    return false;
  }

  std::string run_step(int64_t position) {
    if (position == 0)
      for (const ValueInstance& copy : plan_.schedule.instances)
        if (copy.begin == 0 && !made_by_a_step(copy.value)) filled_.insert(&copy);
    const Step& step = trace_.steps[plan_.schedule.steps[position]];
    for (int32_t v : step.inputs) {
      const std::string what = "value " + std::to_string(v) + " '" + trace_.values[v].name + "'";
      if (overwritten_.count(v) > 0) return at(position) + what + " was overwritten";
      if (!trace_.values[v].persistent && live_copy(v, position) == nullptr)
        return at(position) + what + " is not there";
    }
    int64_t live = trace_.fixed_bytes + step.workspace_bytes;
    for (const ValueInstance& copy : plan_.schedule.instances) {
      if (copy.begin > position || copy.end <= position) continue;
      live += trace_.values[copy.value].bytes;
      // The two share the larger one's bytes while both are there.
      if (copy.takes_over >= 0 && copy.begin == position)
        live -= std::min(trace_.values[copy.value].bytes,
                         trace_.values[plan_.schedule.instances[copy.takes_over].value].bytes);
    }
    peak_ = std::max(peak_, live);
    cost_ += step.cost;
    return fill_outputs(step, position);
  }

  std::string fill_outputs(const Step& step, int64_t position) {
    for (int32_t v : step.outputs) {
      const StepValue& value = trace_.values[v];
      if (value.predecessor && value.reuse == Reuse::overwrites) overwritten_.insert(*value.predecessor);
      if (value.persistent) continue;
      int copies = 0;
      for (const ValueInstance& copy : plan_.schedule.instances)
        if (copy.value == v && copy.begin == position) {
          filled_.insert(&copy);
          ++copies;
        }
      if (copies != 1)
        return at(position) + "makes value " + std::to_string(v) + ", which has " + std::to_string(copies) +
               " copies that begin there";
    }
    return "";
  }

  std::string check_end() const {
    const auto positions = static_cast<int64_t>(plan_.schedule.steps.size());
    for (size_t v = 0; v < trace_.values.size(); ++v)
      if (trace_.values[v].live_at_end && !trace_.values[v].persistent && positions > 0 &&
          live_copy(static_cast<int32_t>(v), positions - 1) == nullptr)
        return "result " + std::to_string(v) + " '" + trace_.values[v].name + "' is not there at the end";
    return "";
  }

  std::string differs(const char* figure, int64_t stated, int64_t counted) const {
    return std::string(figure) + " is stated as " + std::to_string(stated) + ", counted " + std::to_string(counted);
  }

  std::string check_figures() const {
    int64_t base = 0;
    for (const Step& step : trace_.steps) base += step.cost;
    if (plan_.extra_cost != cost_ - base) return differs("extra cost", plan_.extra_cost, cost_ - base);
    const int64_t peak = std::max(peak_, trace_.fixed_bytes);
    if (plan_.peak_live_bytes != peak) return differs("peak", plan_.peak_live_bytes, peak);
    const double overhead = base > 0 ? static_cast<double>(plan_.extra_cost) / static_cast<double>(base) : 0;
    return plan_.overhead == overhead ? "" : "overhead is not extra cost / cost";
  }

  std::string check_arena() const {
    const Trace buffers = arena_trace(trace_, plan_.schedule);
    if (max_live_bytes(buffers) + trace_.fixed_bytes != std::max(peak_, trace_.fixed_bytes))
      return differs("max live bytes of the arena's buffers", max_live_bytes(buffers) + trace_.fixed_bytes, peak_);
    if (plan_.peak_arena_bytes != plan_.offsets.peak_bytes + trace_.fixed_bytes)
      return differs("arena", plan_.peak_arena_bytes, plan_.offsets.peak_bytes + trace_.fixed_bytes);
    return find_plan_fault(buffers, plan_.offsets);
  }

  const StepTrace& trace_;
  const RecomputePlan& plan_;
  std::set<const ValueInstance*> filled_;
  std::set<int32_t> taken_;
  std::set<int32_t> overwritten_;
  int64_t peak_ = 0;
  int64_t cost_ = 0;
};

}  // namespace

std::string find_plan_fault(const StepTrace& trace, const RecomputePlan& plan) { return Simulator(trace, plan).run(); }

}  // namespace tidemark::memory
