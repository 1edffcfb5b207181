#include "memory/recompute/search/plan_state.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace tidemark::memory::recompute {
namespace {

// The compiler's own vector type: one register on every x86-64 and ARM machine.
using Lanes = double __attribute__((vector_size(16)));
constexpr int32_t kLanes = 2;

// What is above the budget among so many lanes, and what would be with so many bytes more. All numbers are whole, so
// the order of the additions does not change a result.
class ExcessChange {
 public:
  ExcessChange(double budget, double bytes) : budget_(Lanes{} + budget), bytes_(Lanes{} + bytes) {}

  Lanes add(const double* stage_bytes, int lane) {
    Lanes lanes;
    std::memcpy(&lanes, stage_bytes, sizeof lanes);
    const Lanes none{};
    const Lanes before = lanes - budget_;
    const Lanes after = before + bytes_;
    sum_[lane] += (after > none ? after : none) - (before > none ? before : none);
    return lanes + bytes_;
  }
  double sum() const {
    const Lanes both = sum_[0] + sum_[1];
    return both[0] + both[1];
  }

 private:
  const Lanes budget_;
  const Lanes bytes_;
  Lanes sum_[2] = {};  // two, so that additions overlap
};

}  // namespace

std::vector<int32_t> stages_of(const Problem& problem, const std::vector<int32_t>& steps) {
  std::vector<int32_t> stages(steps.size(), problem.step_count - 1);
  int32_t next = 0;
  size_t waiting = 0;  // from here on: runs whose stage is that of the next first run
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i] != next) continue;
    for (; waiting <= i; ++waiting) stages[waiting] = next + problem.first_step;
    ++next;
  }
  return stages;
}

PlanState::PlanState(const Problem& problem, double budget_bytes)
    : problem_(problem),
      budget_(budget_bytes),
      runs_(problem.step_count),
      reads_(problem.value_count()),
      local_(problem.step_count),
      local_bytes_(problem.step_count, 0),
      bytes_(problem.step_count, problem.fixed_bytes),
      touched_(problem.step_count, 0),
      seen_(problem.value_count(), 0) {
  for (int32_t s = 0; s < problem_.step_count; ++s) runs_[s].insert(s);
  for (int32_t v = 0; v < problem_.value_count(); ++v) {
    for (int32_t reader : problem_.readers[v]) reads_[v].insert(reader);
    const int32_t made = problem_.maker[v];
    const int32_t end = end_of_copy(v, made, kNever);
    for (int32_t t = made + 1; t < end; ++t) bytes_[t] += problem_.bytes[v];
  }
  for (int32_t t = 0; t < problem_.step_count; ++t) {
    local_bytes_[t] = local_peak(t);
    bytes_[t] += local_bytes_[t];
  }
  set_budget(budget_bytes);
}

void PlanState::set_budget(double budget_bytes) {
  budget_ = budget_bytes;
  excess_ = 0;
  for (double bytes : bytes_) excess_ += std::max(0.0, bytes - budget_);
  forget_journal();
}

// What the outputs of a step save by taking over bytes of inputs that end with it.
double PlanState::taken_over(int32_t step, int32_t stage) const {
  double bytes = 0;
  for (int32_t v : problem_.outputs[step]) {
    const int32_t before = problem_.predecessor[v];
    if (before < 0 || seen_[before] == stamp_) continue;
    if (seen_[before] == stamp_ + 1 || !goes_on(before, stage))
      bytes += std::min(problem_.bytes[v], problem_.bytes[before]);
  }
  return bytes;
}

double PlanState::local_peak_of_one(int32_t stage) const {
  double bytes = problem_.workspace_bytes[stage];
  for (int32_t v : problem_.inputs[stage])
    if (!goes_on(v, stage)) bytes += problem_.bytes[v];
  for (int32_t v : problem_.outputs[stage]) bytes += problem_.bytes[v];
  return bytes - taken_over(stage, stage);
}

// Bytes of what is made in the stage and needed after it; notes what is made.
double PlanState::made_and_kept(int32_t stage) {
  double bytes = 0;
  const auto note = [&](int32_t step) {
    for (int32_t v : problem_.outputs[step]) {
      const bool goes = goes_on(v, stage);
      seen_[v] = goes ? stamp_ : stamp_ + 1;
      if (goes) bytes += problem_.bytes[v];
    }
  };
  for (int32_t step : local_[stage]) note(step);
  note(stage);
  return bytes;
}

// From the last step of the stage to its first: a value counts from its last use back to where it is made. What
// crosses the whole stage does not count.
double PlanState::local_peak(int32_t stage) {
  stamp_ += 2;
  if (local_[stage].empty()) return local_peak_of_one(stage);
  double live = made_and_kept(stage);
  double peak = 0;
  const std::vector<int32_t>& steps = local_[stage];
  for (auto j = static_cast<int32_t>(steps.size()); j >= 0; --j) {
    const int32_t step = j < static_cast<int32_t>(steps.size()) ? steps[j] : stage;
    const double taken = taken_over(step, stage);
    for (int32_t v : problem_.inputs[step]) count_at_last_use(v, stage, live);
    double made = 0;
    for (int32_t v : problem_.outputs[step]) {
      made += problem_.bytes[v];
      if (seen_[v] == stamp_ + 1) live += problem_.bytes[v];  // read by nobody
    }
    peak = std::max(peak, live - taken + problem_.workspace_bytes[step]);
    live -= made;
  }
  return peak;
}

void PlanState::count_at_last_use(int32_t value, int32_t stage, double& live) {
  if (seen_[value] == stamp_) return;
  const bool ends = seen_[value] == stamp_ + 1 || !goes_on(value, stage);
  seen_[value] = stamp_;
  if (ends) live += problem_.bytes[value];
}

// Without the run its outputs' copies before it live on across the gap; what the run keeps alive for itself may go.
bool PlanState::is_needed(Run run) const {
  double kept_for_it = 0;
  for (int32_t v : problem_.inputs[run.step]) {
    const StageList::Neighbours runs = runs_[problem_.maker[v]].around(run.stage);
    if (runs.last < run.stage && end_of_copy(v, runs.last, runs.next) == run.stage) kept_for_it += problem_.bytes[v];
  }
  const int32_t made = latest_run(run.step, run.stage - 1);
  const int32_t next_made = next_run(run.step, run.stage);
  for (int32_t v : problem_.outputs[run.step]) {
    if (last_read(v, next_made - 1) < run.stage) continue;
    const double most = budget_ - problem_.bytes[v] + kept_for_it;
    for (int32_t t = end_of_copy(v, made, run.stage) + 1; t < run.stage; ++t)
      if (bytes_[t] > most) return true;
  }
  return false;
}

double PlanState::excess_growth(int32_t begin, int32_t end, double bytes) const {
  const double* stage_bytes = bytes_.data();
  ExcessChange change(budget_, bytes);
  int32_t t = begin;
  for (; t + 2 * kLanes <= end; t += 2 * kLanes) {
    change.add(stage_bytes + t, 0);
    change.add(stage_bytes + t + kLanes, 1);
  }
  double growth = change.sum();
  for (; t < end; ++t)
    growth += std::max(0.0, stage_bytes[t] + bytes - budget_) - std::max(0.0, stage_bytes[t] - budget_);
  return growth;
}

void PlanState::add_range(int32_t begin, int32_t end, double bytes) {
  if (begin >= end) return;
  range_log_.push_back({begin, end, bytes});
  double* stage_bytes = bytes_.data();
  ExcessChange change(budget_, bytes);
  int32_t t = begin;
  for (; t + 2 * kLanes <= end; t += 2 * kLanes) {
    const Lanes first = change.add(stage_bytes + t, 0);
    const Lanes second = change.add(stage_bytes + t + kLanes, 1);
    std::memcpy(stage_bytes + t, &first, sizeof first);
    std::memcpy(stage_bytes + t + kLanes, &second, sizeof second);
  }
  excess_ += change.sum();
  for (; t < end; ++t) {
    const double before = std::max(0.0, stage_bytes[t] - budget_);
    stage_bytes[t] += bytes;
    excess_ += std::max(0.0, stage_bytes[t] - budget_) - before;
  }
}

void PlanState::touch(int32_t stage) {
  if (touched_[stage]) return;
  touched_[stage] = 1;
  touched_stages_.push_back(stage);
}

void PlanState::settle() {
  for (int32_t t : touched_stages_) {
    touched_[t] = 0;
    const double local = local_peak(t);
    if (local == local_bytes_[t]) continue;
    const double bytes = bytes_[t] - local_bytes_[t] + local;
    excess_ += std::max(0.0, bytes - budget_) - std::max(0.0, bytes_[t] - budget_);
    local_log_.push_back({t, local_bytes_[t]});
    local_bytes_[t] = local;
    bytes_[t] = bytes;
  }
  touched_stages_.clear();
}

// A second copy cuts the readers of the first in two; `made` and `next_made` are the runs before and after it. What it
// frees is the gap between the last reader of the first part and the new run.
void PlanState::split_copies(Run run, int32_t made, int32_t next_made, double sign) {
  for (int32_t v : problem_.outputs[run.step]) {
    const int32_t end = last_read(v, next_made - 1);
    if (end < run.stage) continue;  // nobody reads the second
    const int32_t first_end = end_of_copy(v, made, run.stage);
    touch(first_end);
    add_range(std::max(made + 1, first_end), std::min(run.stage + 1, end), sign * problem_.bytes[v]);
  }
}

// Where an input's copy lived less long than the run, it lives until there now. Only the stage of its former end sees a
// difference in what is local to it, beside the run's own stage.
void PlanState::insert(Run run) {
  touch(run.stage);
  const auto [made_before, made_after] = runs_[run.step].around(run.stage);
  runs_[run.step].insert(run.stage);
  std::vector<int32_t>& steps = local_[run.stage];
  steps.insert(std::upper_bound(steps.begin(), steps.end(), run.step), run.step);
  split_copies(run, made_before, made_after, -1);
  for (int32_t v : problem_.inputs[run.step]) {
    const int32_t maker = problem_.maker[v];
    const auto [made, next_made] = runs_[maker].around(run.stage);
    const int32_t end = end_of_copy(v, made, next_made);
    reads_[v].insert(run.stage);
    if (end >= run.stage) continue;
    touch(end);
    add_range(std::max(made + 1, end), run.stage, problem_.bytes[v]);
  }
}

void PlanState::remove(Run run) {
  touch(run.stage);
  for (int32_t v : problem_.inputs[run.step]) {
    reads_[v].erase(run.stage);
    const int32_t maker = problem_.maker[v];
    const auto [made, next_made] = runs_[maker].around(run.stage);
    const int32_t end = end_of_copy(v, made, next_made);
    if (end >= run.stage) continue;
    touch(end);
    add_range(std::max(made + 1, end), run.stage, -problem_.bytes[v]);
  }
  runs_[run.step].erase(run.stage);
  std::vector<int32_t>& steps = local_[run.stage];
  steps.erase(std::lower_bound(steps.begin(), steps.end(), run.step));
  split_copies(run, latest_run(run.step, run.stage), next_run(run.step, run.stage), 1);
}

void PlanState::toggle(Run run) {
  if (runs_at(run.step, run.stage)) {
    remove(run);
    extra_cost_ -= problem_.cost[run.step];
    --extra_count_;
  } else {
    insert(run);
    extra_cost_ += problem_.cost[run.step];
    ++extra_count_;
  }
}

void PlanState::flip(Run run) {
  ++flips_;
  befores_.push_back({excess_, extra_cost_, range_log_.size(), local_log_.size()});
  journal_.push_back(run);
  toggle(run);
}

// The lists alone, without a look at the bytes.
void PlanState::toggle_lists(Run run) {
  std::vector<int32_t>& steps = local_[run.stage];
  if (runs_at(run.step, run.stage)) {
    for (int32_t v : problem_.inputs[run.step]) reads_[v].erase(run.stage);
    runs_[run.step].erase(run.stage);
    steps.erase(std::lower_bound(steps.begin(), steps.end(), run.step));
    --extra_count_;
  } else {
    for (int32_t v : problem_.inputs[run.step]) reads_[v].insert(run.stage);
    runs_[run.step].insert(run.stage);
    steps.insert(std::upper_bound(steps.begin(), steps.end(), run.step), run.step);
    ++extra_count_;
  }
}

void PlanState::undo_to(size_t mark) {
  if (journal_.size() <= mark) return;
  settle();
  const Before before = befores_[mark];
  for (; journal_.size() > mark; journal_.pop_back()) toggle_lists(journal_.back());
  befores_.resize(mark);
  for (; range_log_.size() > before.ranges; range_log_.pop_back()) {
    const Range& range = range_log_.back();
    for (int32_t t = range.begin; t < range.end; ++t) bytes_[t] -= range.bytes;
  }
  for (; local_log_.size() > before.locals; local_log_.pop_back()) {
    const Local& local = local_log_.back();
    bytes_[local.stage] += local.bytes - local_bytes_[local.stage];
    local_bytes_[local.stage] = local.bytes;
  }
  excess_ = before.excess;
  extra_cost_ = before.extra_cost;
}

void PlanState::forget_journal() {
  journal_.clear();
  befores_.clear();
  range_log_.clear();
  local_log_.clear();
}

void PlanState::assign(const std::vector<Run>& runs) {
  std::vector<Run> wanted = runs;
  std::sort(wanted.begin(), wanted.end());
  std::vector<Run> changes;
  const std::vector<Run> present = extra_runs();
  std::set_symmetric_difference(present.begin(), present.end(), wanted.begin(), wanted.end(),
                                std::back_inserter(changes));
  for (Run run : changes) toggle(run);
  settle();
  forget_journal();
}

std::vector<Run> PlanState::extra_runs() const {
  std::vector<Run> runs;
  for (int32_t t = 0; t < problem_.step_count; ++t)
    for (int32_t s : local_[t]) runs.push_back({t, s});
  return runs;
}

std::vector<int32_t> PlanState::sequence() const {
  std::vector<int32_t> steps;
  const auto add = [&](int32_t s) {
    const int32_t step = s - problem_.first_step;
    if (step >= 0 && step < problem_.trace_steps) steps.push_back(step);
  };
  for (int32_t t = 0; t < problem_.step_count; ++t) {
    for (int32_t s : local_[t]) add(s);
    add(t);
  }
  return steps;
}

}  // namespace tidemark::memory::recompute
