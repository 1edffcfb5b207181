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

PlanState::PlanState(const Problem& problem, double budget_bytes)
    : problem_(problem),
      budget_(budget_bytes),
      extra_(problem.step_count),
      local_(problem.step_count),
      extra_reads_(problem.value_count(), 0),
      local_bytes_(problem.step_count, 0),
      bytes_(problem.step_count, problem.fixed_bytes),
      touched_(problem.step_count, 0),
      local_index_(problem.value_count(), 0),
      local_stamp_(problem.value_count(), 0) {
  for (int32_t v = 0; v < problem_.value_count(); ++v) {
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
}

// Most values have no extra reads: then their readers, which are sorted, say all.
int32_t PlanState::last_plain_read(int32_t value, int32_t stage) const {
  const std::span<const int32_t> readers = problem_.readers[value];
  for (size_t i = readers.size(); i > 0; --i)
    if (readers[i - 1] <= stage) return readers[i - 1];
  return -1;
}

int32_t PlanState::next_plain_read(int32_t value, int32_t stage) const {
  const std::span<const int32_t> readers = problem_.readers[value];
  int32_t next = kNever;
  for (size_t i = readers.size(); i > 0 && readers[i - 1] > stage; --i) next = readers[i - 1];
  return next;
}

int32_t PlanState::last_read(int32_t value, int32_t stage) const {
  if (extra_reads_[value] == 0) return last_plain_read(value, stage);
  int32_t last = -1;
  for (int32_t reader : problem_.readers[value]) last = std::max(last, latest_run(reader, stage));
  return last;
}

int32_t PlanState::next_read(int32_t value, int32_t stage) const {
  if (extra_reads_[value] == 0) return next_plain_read(value, stage);
  int32_t next = kNever;
  for (int32_t reader : problem_.readers[value]) next = std::min(next, next_run(reader, stage));
  return next;
}

int32_t PlanState::end_of_copy(int32_t value, int32_t made, int32_t next_made) const {
  return std::max(made, last_read(value, next_made - 1));
}

bool PlanState::is_read_from(int32_t value, int32_t made, int32_t next_made) const {
  return last_read(value, next_made - 1) >= made;
}

int32_t PlanState::end_of_latest(int32_t value, int32_t stage) const {
  const int32_t maker = problem_.maker[value];
  return end_of_copy(value, latest_run(maker, stage), next_run(maker, stage));
}

bool PlanState::goes_on(int32_t value, int32_t stage) const {
  const std::span<const int32_t> readers = problem_.readers[value];
  const int32_t next_made = next_run(problem_.maker[value], stage);
  if (extra_reads_[value] == 0) {
    if (next_made == kNever) return !readers.empty() && readers.back() > stage;
    return next_plain_read(value, stage) < next_made;
  }
  for (size_t i = readers.size(); i > 0; --i)
    if (next_run(readers[i - 1], stage) < next_made) return true;
  return false;
}

double PlanState::local_peak_of_one(int32_t stage) const {
  double bytes = problem_.workspace_bytes[stage];
  for (int32_t v : problem_.inputs[stage])
    if (!goes_on(v, stage)) bytes += problem_.bytes[v];
  for (int32_t v : problem_.outputs[stage]) {
    bytes += problem_.bytes[v];
    const int32_t before = problem_.predecessor[v];
    if (before >= 0 && !goes_on(before, stage)) bytes -= std::min(problem_.bytes[v], problem_.bytes[before]);
  }
  return bytes;
}

void PlanState::collect_local(int32_t stage) {
  ++stamp_;
  local_values_.clear();
  const auto& steps = local_[stage];
  const auto count = static_cast<int32_t>(steps.size());
  const auto note = [&](int32_t v, int32_t begin, int32_t last) {
    if (local_stamp_[v] != stamp_) {
      local_stamp_[v] = stamp_;
      local_index_[v] = static_cast<int32_t>(local_values_.size());
      local_values_.push_back({v, begin, last});
    }
    local_values_[local_index_[v]].last = last;
  };
  for (int32_t j = 0; j <= count; ++j) {
    const int32_t step = j < count ? steps[j] : stage;
    for (int32_t v : problem_.inputs[step]) note(v, -1, j);
    for (int32_t v : problem_.outputs[step]) note(v, j, j);
  }
}

double PlanState::local_peak(int32_t stage) {
  if (local_[stage].empty()) return local_peak_of_one(stage);
  collect_local(stage);
  const std::vector<int32_t>& steps = local_[stage];
  const auto count = static_cast<int32_t>(steps.size());
  change_.assign(count + 2, 0.0);
  for (const LocalValue& local : local_values_) {
    const bool goes = goes_on(local.value, stage);
    if (goes && local.begin < 0) continue;  // crosses the stage: in the base
    change_[std::max(local.begin, 0)] += problem_.bytes[local.value];
    if (!goes) change_[local.last + 1] -= problem_.bytes[local.value];
    const int32_t before = local.begin < 0 ? -1 : problem_.predecessor[local.value];
    if (before < 0 || local_values_[local_index_[before]].last != local.begin || goes_on(before, stage)) continue;
    const double shared = std::min(problem_.bytes[local.value], problem_.bytes[before]);
    change_[local.begin] -= shared;
    change_[local.begin + 1] += shared;
  }
  double live = 0;
  double peak = 0;
  for (int32_t j = 0; j <= count; ++j) {
    live += change_[j];
    peak = std::max(peak, live + problem_.workspace_bytes[j < count ? steps[j] : stage]);
  }
  return peak;
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
    local_bytes_[t] = local;
    bytes_[t] = bytes;
  }
  touched_stages_.clear();
}

// The base covers the stages strictly between the copy's making and its end.
void PlanState::move_end(int32_t value, int32_t made, int32_t from, int32_t to) {
  if (from == to) return;
  touch(made);
  touch(from);
  touch(to);
  if (to > from)
    add_range(std::max(made + 1, from), to, problem_.bytes[value]);
  else
    add_range(std::max(made + 1, to), from, -problem_.bytes[value]);
}

void PlanState::remember_input_ends(Run run) {
  input_ends_.clear();
  for (int32_t v : problem_.inputs[run.step]) input_ends_.push_back(end_of_latest(v, run.stage));
}

void PlanState::adjust_input_ends(Run run) {
  size_t i = 0;
  for (int32_t v : problem_.inputs[run.step]) {
    const int32_t made = latest_run(problem_.maker[v], run.stage);
    move_end(v, made, input_ends_[i++], end_of_copy(v, made, next_run(problem_.maker[v], run.stage)));
  }
}

// A second copy cuts the readers of the first in two; `made` and `next_made` are the runs before and after it. What it
// frees is the gap between the last reader of the first part and the new run.
void PlanState::split_copies(Run run, int32_t made, int32_t next_made, bool join) {
  touch(run.stage);
  for (int32_t v : problem_.outputs[run.step]) {
    const int32_t first_end = end_of_copy(v, made, run.stage);
    const int32_t whole_end = std::max(first_end, end_of_copy(v, run.stage, next_made));
    touch(whole_end);
    if (whole_end == first_end || !is_read_from(v, run.stage, next_made)) continue;
    touch(made);
    touch(first_end);
    add_range(std::max(made + 1, first_end), std::min(run.stage + 1, whole_end),
              join ? problem_.bytes[v] : -problem_.bytes[v]);
  }
}

void PlanState::insert(Run run) {
  remember_input_ends(run);
  const int32_t made = latest_run(run.step, run.stage);
  const int32_t next_made = next_run(run.step, run.stage);
  std::vector<int32_t>& stages = extra_[run.step];
  stages.insert(std::upper_bound(stages.begin(), stages.end(), run.stage), run.stage);
  std::vector<int32_t>& steps = local_[run.stage];
  steps.insert(std::upper_bound(steps.begin(), steps.end(), run.step), run.step);
  for (int32_t v : problem_.inputs[run.step]) ++extra_reads_[v];
  split_copies(run, made, next_made, false);
  adjust_input_ends(run);
  extra_cost_ += problem_.cost[run.step];
  ++extra_count_;
}

void PlanState::remove(Run run) {
  remember_input_ends(run);
  std::vector<int32_t>& stages = extra_[run.step];
  stages.erase(std::lower_bound(stages.begin(), stages.end(), run.stage));
  std::vector<int32_t>& steps = local_[run.stage];
  steps.erase(std::lower_bound(steps.begin(), steps.end(), run.step));
  for (int32_t v : problem_.inputs[run.step]) --extra_reads_[v];
  split_copies(run, latest_run(run.step, run.stage), next_run(run.step, run.stage), true);
  adjust_input_ends(run);
  extra_cost_ -= problem_.cost[run.step];
  --extra_count_;
}

void PlanState::flip(Run run) {
  ++flips_;
  toggle(run);
  journal_.push_back(run);
}

void PlanState::toggle(Run run) {
  const std::vector<int32_t>& stages = extra_[run.step];
  if (std::binary_search(stages.begin(), stages.end(), run.stage))
    remove(run);
  else
    insert(run);
}

void PlanState::undo_to(size_t mark) {
  while (journal_.size() > mark) {
    toggle(journal_.back());
    journal_.pop_back();
  }
  settle();
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
  journal_.clear();
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
