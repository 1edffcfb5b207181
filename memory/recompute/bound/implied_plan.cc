#include "memory/recompute/bound/implied_plan.h"

#include <algorithm>
#include <utility>

namespace tidemark::memory::recompute {
namespace {

class PlanMaker {
 public:
  PlanMaker(const Problem& problem, const CheckpointProgram& program, const std::vector<double>& solution)
      : problem_(problem), program_(program), solution_(solution) {}

  std::vector<Run> run() {
    for (size_t k = 0; k < program_.stages.size(); ++k) walk_epoch(k);
    std::sort(runs_.begin(), runs_.end());
    return std::move(runs_);
  }

 private:
  bool is_resident(size_t k, int32_t v) const {
    const Literal literal = program_.resident[k][v];
    return (literal.variable >= 0 && solution_[literal.variable] > 0.5) != literal.negated;
  }

  void walk_epoch(size_t k) {
    const int32_t begin = program_.stages[k];
    const bool last = k + 1 == program_.stages.size();
    const int32_t end = last ? problem_.step_count - 1 : program_.stages[k + 1];
    there_.assign(problem_.value_count(), true);
    for (int32_t v = 0; v < problem_.value_count(); ++v)
      if (problem_.maker[v] <= begin) there_[v] = is_resident(k, v);
    for (int32_t t = begin + 1; t <= end; ++t)
      for (int32_t v : problem_.inputs[t]) make(v, t);
    for (int32_t v = 0; !last && v < problem_.value_count(); ++v)
      if (problem_.maker[v] <= begin && is_resident(k + 1, v)) make(v, end);
  }

  // Inputs first; without recursion, graphs can be deep.
  void make(int32_t value, int32_t stage) {
    if (there_[value]) return;
    std::vector<int32_t> open = {problem_.maker[value]};
    while (!open.empty()) {
      const int32_t step = open.back();
      const size_t before = open.size();
      for (int32_t v : problem_.inputs[step])
        if (!there_[v] && problem_.maker[v] < step) open.push_back(problem_.maker[v]);
      if (open.size() > before) continue;
      open.pop_back();
      const auto outputs = problem_.outputs[step];
      if (step > 0 && std::any_of(outputs.begin(), outputs.end(), [&](int32_t v) { return !there_[v]; }))
        runs_.push_back({stage, step});
      for (int32_t v : outputs) there_[v] = true;
    }
  }

  const Problem& problem_;
  const CheckpointProgram& program_;
  const std::vector<double>& solution_;
  std::vector<bool> there_;  // by value
  std::vector<Run> runs_;
};

// A place where a plan is above the budget.
struct Excess {
  double bytes = 0;
  std::vector<int32_t> stages;
};

void add_peaks(const std::vector<double>& bytes, double budget_bytes, bool with_stage_before,
               const std::vector<int32_t>& known, std::vector<Excess>& places) {
  for (size_t t = 1; t < bytes.size(); ++t) {
    const bool peak = bytes[t - 1] < bytes[t] && (t + 1 == bytes.size() || bytes[t + 1] <= bytes[t]);
    if (!peak || bytes[t] <= budget_bytes) continue;
    Excess place{bytes[t] - budget_bytes, {}};
    for (int32_t stage = static_cast<int32_t>(t) - (with_stage_before ? 1 : 0); stage <= static_cast<int32_t>(t);
         ++stage)
      if (!std::binary_search(known.begin(), known.end(), stage)) place.stages.push_back(stage);
    if (!place.stages.empty()) places.push_back(std::move(place));
  }
}

}  // namespace

std::vector<Run> implied_runs(const Problem& problem, const CheckpointProgram& program,
                              const std::vector<double>& solution) {
  return PlanMaker(problem, program, solution).run();
}

StageBytes bytes_of_runs(const Problem& problem, const std::vector<Run>& runs) {
  std::vector<Run> order(runs);
  for (int32_t t = 0; t < problem.step_count; ++t) order.push_back({t, t});
  std::sort(order.begin(), order.end());
  std::vector<double> change(order.size() + 1, 0);
  std::vector<size_t> begin(problem.value_count(), 0), end(problem.value_count(), 0);  // of the latest copy
  std::vector<bool> made(problem.value_count(), false);
  const auto finish = [&](int32_t v) {
    change[begin[v]] += problem.bytes[v];
    change[end[v] + 1] -= problem.bytes[v];
  };
  for (size_t i = 0; i < order.size(); ++i) {
    for (int32_t v : problem.inputs[order[i].step]) end[v] = i;
    for (int32_t v : problem.outputs[order[i].step]) {
      if (i > 0 && made[v]) finish(v);
      made[v] = true;
      begin[v] = end[v] = i;
    }
  }
  for (int32_t v = 0; v < problem.value_count(); ++v) finish(v);
  StageBytes bytes{std::vector<double>(problem.step_count, 0), std::vector<double>(problem.step_count, 0)};
  double live = problem.fixed_bytes;
  for (size_t i = 0; i < order.size(); ++i) {
    live += change[i];
    double& highest = (order[i].step == order[i].stage ? bytes.base : bytes.again)[order[i].stage];
    highest = std::max(highest, live + problem.workspace_bytes[order[i].step]);
  }
  return bytes;
}

std::vector<std::vector<int32_t>> further_stages(const StageBytes& bytes, double budget_bytes,
                                                 const std::vector<int32_t>& stages, size_t most) {
  std::vector<Excess> places;
  add_peaks(bytes.base, budget_bytes, false, stages, places);
  add_peaks(bytes.again, budget_bytes, true, stages, places);
  std::stable_sort(places.begin(), places.end(),
                   [](const Excess& a, const Excess& b) { return a.stages.back() < b.stages.back(); });
  std::vector<Excess> chosen;
  const size_t groups = std::min(most, places.size());
  for (size_t g = 0; g < groups; ++g) {
    const auto begin = places.begin() + static_cast<ptrdiff_t>(g * places.size() / groups);
    const auto end = places.begin() + static_cast<ptrdiff_t>((g + 1) * places.size() / groups);
    chosen.push_back(*std::max_element(begin, end, [](const Excess& a, const Excess& b) { return a.bytes < b.bytes; }));
  }
  std::stable_sort(chosen.begin(), chosen.end(), [](const Excess& a, const Excess& b) { return a.bytes > b.bytes; });
  std::vector<std::vector<int32_t>> sets;
  for (Excess& place : chosen) sets.push_back(std::move(place.stages));
  return sets;
}

}  // namespace tidemark::memory::recompute
