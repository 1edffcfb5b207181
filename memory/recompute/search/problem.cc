#include "memory/recompute/search/problem.h"

#include <algorithm>

namespace tidemark::memory::recompute {

Lists::Lists(const std::vector<std::vector<int32_t>>& lists) {
  for (const std::vector<int32_t>& list : lists) {
    items_.insert(items_.end(), list.begin(), list.end());
    starts_.push_back(static_cast<int32_t>(items_.size()));
  }
}

namespace {

using IntLists = std::vector<std::vector<int32_t>>;

class ProblemMaker {
 public:
  ProblemMaker(const StepTrace& trace, Problem& problem) : trace_(trace), problem_(problem) {}

  void run() {
    number_values();
    // A step in front and one behind, needed or not: they cost nothing.
    problem_.first_step = 1;
    problem_.trace_steps = static_cast<int32_t>(trace_.steps.size());
    problem_.step_count = problem_.trace_steps + 2;
    problem_.maker.assign(number_.size(), 0);
    inputs_.resize(problem_.step_count);
    outputs_.resize(problem_.step_count);
    add_step(0, {}, false);
    for (size_t i = 0; i < trace_.steps.size(); ++i)
      add_step(static_cast<int32_t>(i) + 1, trace_.steps[i], trace_.steps[i].may_run_twice);
    add_step(problem_.step_count - 1, {}, false);
    connect_ends();
    find_overwrites();
    problem_.fixed_bytes = static_cast<double>(trace_.fixed_bytes);
    finish_lists();
  }

 private:
  void number_values() {
    number_.assign(trace_.values.size(), -1);
    for (size_t v = 0; v < number_.size(); ++v) {
      if (trace_.values[v].persistent) continue;
      number_[v] = static_cast<int32_t>(problem_.bytes.size());
      problem_.bytes.push_back(static_cast<double>(trace_.values[v].bytes));
    }
    problem_.predecessor.assign(problem_.bytes.size(), -1);
  }

  void add_step(int32_t index, const Step& step, bool may_run_twice) {
    problem_.cost.push_back(static_cast<double>(step.cost));
    problem_.total_cost += static_cast<double>(step.cost);
    problem_.workspace_bytes.push_back(static_cast<double>(step.workspace_bytes));
    problem_.last_repeat.push_back(may_run_twice ? problem_.step_count : -1);
    for (int32_t v : step.inputs)
      if (number_[v] >= 0) inputs_[index].push_back(number_[v]);
    std::sort(inputs_[index].begin(), inputs_[index].end());
    inputs_[index].erase(std::unique(inputs_[index].begin(), inputs_[index].end()), inputs_[index].end());
    for (int32_t v : step.outputs) {
      if (number_[v] < 0) continue;
      if (trace_.values[v].predecessor) name_predecessor(index, number_[v], number_[*trace_.values[v].predecessor]);
      outputs_[index].push_back(number_[v]);
      problem_.maker[number_[v]] = index;
    }
  }

  // Bytes go to one value, the first of those that a step makes from them, as in a schedule.
  void name_predecessor(int32_t step, int32_t value, int32_t predecessor) {
    const auto takes_it = [&](int32_t other) { return problem_.predecessor[other] == predecessor; };
    if (std::ranges::none_of(outputs_[step], takes_it)) problem_.predecessor[value] = predecessor;
  }

  void connect_ends() {
    std::vector<bool> made(problem_.bytes.size(), false);
    for (const std::vector<int32_t>& list : outputs_)
      for (int32_t v : list) made[v] = true;
    for (size_t v = 0; v < number_.size(); ++v) {
      if (number_[v] < 0) continue;
      if (!made[number_[v]]) outputs_.front().push_back(number_[v]);
      if (trace_.values[v].live_at_end) inputs_.back().push_back(number_[v]);
    }
  }

  // What reads a value that is overwritten can run again only until then, and what overwrites never.
  void find_overwrites() {
    std::vector<int32_t> overwritten_at(trace_.values.size(), problem_.step_count);
    for (size_t i = 0; i < trace_.steps.size(); ++i)
      for (int32_t v : trace_.steps[i].outputs) {
        const StepValue& value = trace_.values[v];
        if (!value.predecessor || value.reuse != Reuse::overwrites) continue;
        overwritten_at[*value.predecessor] = static_cast<int32_t>(i) + 1;
        problem_.last_repeat[i + 1] = -1;
      }
    for (size_t i = 0; i < trace_.steps.size(); ++i)
      for (int32_t v : trace_.steps[i].inputs)
        problem_.last_repeat[i + 1] = std::min(problem_.last_repeat[i + 1], overwritten_at[v]);
  }

  void finish_lists() {
    IntLists readers(problem_.bytes.size());
    for (int32_t s = 0; s < problem_.step_count; ++s)
      for (int32_t v : inputs_[s]) readers[v].push_back(s);
    problem_.inputs = Lists(inputs_);
    problem_.outputs = Lists(outputs_);
    problem_.readers = Lists(readers);
  }

  const StepTrace& trace_;
  Problem& problem_;
  std::vector<int32_t> number_;  // of every value of the trace, -1 if persistent
  IntLists inputs_;
  IntLists outputs_;
};

}  // namespace

Problem::Problem(const StepTrace& trace) { ProblemMaker(trace, *this).run(); }

}  // namespace tidemark::memory::recompute
