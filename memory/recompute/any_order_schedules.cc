#include "memory/recompute/any_order_schedules.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/error.h"

namespace tidemark::memory {
namespace {

using Values = uint32_t;  // bits

class ShortestPath {
 public:
  ShortestPath(const StepTrace& trace, int64_t budget_bytes) : trace_(trace), room_(budget_bytes - trace.fixed_bytes) {
    number_.assign(trace.values.size(), -1);
    for (size_t v = 0; v < trace.values.size(); ++v)
      if (!trace.values[v].persistent) {
        number_[v] = static_cast<int>(bytes_.size());
        bytes_.push_back(trace.values[v].bytes);
        if (trace.values[v].live_at_end) results_ |= bit(static_cast<int32_t>(v));
      }
    TM_CHECK(bytes_.size() <= 20, "too many values");
    find_last_repeats();
  }

  std::optional<int64_t> run() {
    const auto steps = static_cast<int32_t>(trace_.steps.size());
    reach(0, 0, values_there_before());
    while (!open_.empty()) {
      const auto [cost, done, there] = open_.top();
      open_.pop();
      if (cost > best_.at(key(done, there))) continue;
      if (done == steps && (there & results_) == results_) return cost;
      if (done < steps) run_step(cost, done, there, done, true);
      for (int32_t s = 0; s < done; ++s)
        if (done <= last_repeat_[s]) run_step(cost, done, there, s, false);
    }
    return std::nullopt;
  }

 private:
  Values bit(int32_t v) const { return number_[v] < 0 ? 0 : Values{1} << number_[v]; }
  Values bits(const std::vector<int32_t>& values) const {
    Values set = 0;
    for (int32_t v : values) set |= bit(v);
    return set;
  }
  static uint64_t key(int32_t done, Values there) { return uint64_t{there} << 32 | static_cast<uint32_t>(done); }

  bool overwrites(const Step& step) const {
    return std::any_of(step.outputs.begin(), step.outputs.end(), [&](int32_t v) {
      return trace_.values[v].predecessor && trace_.values[v].reuse == Reuse::overwrites;
    });
  }

  // By step: it may run again while no more first runs than this are done.
  void find_last_repeats() {
    const auto steps = static_cast<int32_t>(trace_.steps.size());
    for (const Step& step : trace_.steps) {
      int32_t last = step.may_run_twice && !overwrites(step) ? steps : -1;
      for (int32_t s = 0; s < steps; ++s)
        for (int32_t v : trace_.steps[s].outputs) {
          const StepValue& value = trace_.values[v];
          if (value.predecessor && value.reuse == Reuse::overwrites &&
              std::find(step.inputs.begin(), step.inputs.end(), *value.predecessor) != step.inputs.end())
            last = std::min(last, s);
        }
      last_repeat_.push_back(last);
    }
  }

  Values values_there_before() const {
    Values made = 0;
    for (const Step& step : trace_.steps) made |= bits(step.outputs);
    return ((Values{1} << bytes_.size()) - 1) & ~made;
  }

  void reach(int64_t cost, int32_t done, Values there) {
    const auto [place, is_new] = best_.try_emplace(key(done, there), cost);
    if (!is_new && place->second <= cost) return;
    place->second = cost;
    open_.emplace(cost, done, there);
  }

  int64_t sum(Values set) const {
    int64_t bytes = 0;
    for (size_t i = 0; i < bytes_.size(); ++i)
      if ((set >> i & 1) != 0) bytes += bytes_[i];
    return bytes;
  }

  // Whatever subset of the values goes before the run, and of its inputs after it.
  void run_step(int64_t cost, int32_t done, Values there, int32_t s, bool first) {
    const Step& step = trace_.steps[s];
    const Values inputs = bits(step.inputs);
    const Values outputs = bits(step.outputs);
    if ((inputs & ~there) != 0) return;
    const Values others = there & ~inputs & ~outputs;
    for (Values kept = others;; kept = (kept - 1) & others) {
      for (Values stay = inputs;; stay = (stay - 1) & inputs) {
        const int64_t live = sum(kept | inputs | outputs) + step.workspace_bytes - taken_over(step, inputs & ~stay);
        if (live <= room_) reach(first ? cost : cost + step.cost, done + (first ? 1 : 0), kept | stay | outputs);
        if (stay == 0) break;
      }
      if (kept == 0) break;
    }
  }

  int64_t taken_over(const Step& step, Values gone) const {
    int64_t bytes = 0;
    for (int32_t v : step.outputs) {
      const auto& before = trace_.values[v].predecessor;
      if (!before || number_[v] < 0 || (gone & bit(*before)) == 0) continue;
      gone &= ~bit(*before);
      bytes += std::min(trace_.values[v].bytes, trace_.values[*before].bytes);
    }
    return bytes;
  }

  const StepTrace& trace_;
  const int64_t room_;
  std::vector<int> number_;
  std::vector<int64_t> bytes_;
  Values results_ = 0;
  std::vector<int32_t> last_repeat_;
  std::unordered_map<uint64_t, int64_t> best_;
  using State = std::tuple<int64_t, int32_t, Values>;
  std::priority_queue<State, std::vector<State>, std::greater<>> open_;
};

}  // namespace

std::optional<int64_t> least_extra_cost_in_any_order(const StepTrace& trace, int64_t budget_bytes) {
  return ShortestPath(trace, budget_bytes).run();
}

}  // namespace tidemark::memory
