#include "memory/recompute/dtr_planner.h"

#include <algorithm>

#include "memory/recompute/search/problem.h"

namespace tidemark::memory {
namespace {

using recompute::Problem;

class OnlineRun {
 public:
  OnlineRun(const Problem& problem, double budget_bytes, int64_t run_limit)
      : problem_(problem),
        budget_(budget_bytes),
        run_limit_(run_limit),
        resident_(problem.value_count(), false),
        made_(problem.value_count(), false),
        locks_(problem.value_count(), 0),
        last_use_(problem.value_count(), 0),
        readers_left_(problem.value_count()),
        live_(problem.fixed_bytes) {
    for (int32_t v = 0; v < problem_.value_count(); ++v) {
      readers_left_[v] = static_cast<int32_t>(problem_.readers[v].size());
      needed_again_.push_back(feeds_repeatable(v));
    }
  }

  // Steps of the problem in order of running.
  std::vector<int32_t> run() {
    for (int32_t s = 0; s < problem_.step_count; ++s) {
      execute(s, 0);
      for (int32_t v : problem_.inputs[s])
        if (--readers_left_[v] == 0) drop_dead(v);
      for (int32_t v : problem_.outputs[s])
        if (readers_left_[v] == 0) drop_dead(v);
    }
    return std::move(order_);
  }

  int64_t looks() const { return looks_; }

 private:
  bool repeatable(int32_t v) const { return problem_.last_repeat[problem_.maker[v]] >= problem_.step_count; }

  bool feeds_repeatable(int32_t v) const {
    const auto readers = problem_.readers[v];
    return std::any_of(readers.begin(), readers.end(), [&](int32_t r) { return problem_.last_repeat[r] >= r; });
  }

  // A value that cannot be made again stays while something that can may ask for it.
  void drop_dead(int32_t v) {
    if (!resident_[v] || locks_[v] > 0 || (!repeatable(v) && needed_again_[v])) return;
    resident_[v] = false;
    live_ -= problem_.bytes[v];
  }

  void execute(int32_t step, int depth) {
    const auto inputs = problem_.inputs[step];
    for (int32_t v : inputs) ++locks_[v];
    for (int32_t v : inputs)
      if (!resident_[v]) execute(problem_.maker[v], depth + 1);
    double wanted = problem_.workspace_bytes[step];
    for (int32_t v : problem_.outputs[step])
      if (!resident_[v]) wanted += problem_.bytes[v];
    evict_for(wanted);
    order_.push_back(step);
    ++clock_;
    for (int32_t v : inputs) {
      --locks_[v];
      last_use_[v] = clock_;
    }
    for (int32_t v : problem_.outputs[step]) {
      live_ += resident_[v] ? 0 : problem_.bytes[v];
      resident_[v] = made_[v] = true;
      last_use_[v] = clock_;
    }
    if (depth == 0) return;
    for (int32_t v : inputs)
      if (readers_left_[v] == 0) drop_dead(v);
  }

  void evict_for(double wanted) {
    if (static_cast<int64_t>(order_.size()) > run_limit_) return;  // thrashing: go on without the budget
    while (live_ + wanted > budget_) {
      int32_t victim = -1;
      double least = 0;
      for (int32_t v = 0; v < problem_.value_count(); ++v) {
        ++looks_;
        if (!resident_[v] || locks_[v] > 0 || !repeatable(v) || problem_.bytes[v] <= 0) continue;
        const double score = cost_to_get_back(v) / (problem_.bytes[v] * static_cast<double>(clock_ - last_use_[v] + 1));
        if (victim >= 0 && score >= least) continue;
        victim = v;
        least = score;
      }
      if (victim < 0) return;
      resident_[victim] = false;
      live_ -= problem_.bytes[victim];
    }
  }

  // Its own step and the dropped neighbours at one remove: the paper's cheap stand-in for the whole neighbourhood.
  double cost_to_get_back(int32_t v) const {
    const int32_t maker = problem_.maker[v];
    double cost = problem_.cost[maker];
    for (int32_t u : problem_.inputs[maker])
      if (!resident_[u]) cost += problem_.cost[problem_.maker[u]];
    for (int32_t reader : problem_.readers[v])
      for (int32_t u : problem_.outputs[reader])
        if (made_[u] && !resident_[u] && readers_left_[u] > 0) cost += problem_.cost[reader];
    return cost;
  }

  const Problem& problem_;
  const double budget_;
  const int64_t run_limit_;
  std::vector<bool> resident_;
  std::vector<bool> made_;
  std::vector<int32_t> locks_;  // steps under way that read the value
  std::vector<int64_t> last_use_;
  std::vector<int32_t> readers_left_;
  std::vector<bool> needed_again_;
  double live_;
  int64_t clock_ = 0;
  int64_t looks_ = 0;
  std::vector<int32_t> order_;
};

}  // namespace

RecomputePlan DtrPlanner::best_effort(const StepTrace& trace, int64_t budget_bytes, const RecomputeOptions&) const {
  RecomputePlan plain = make_plan(trace, plain_order(trace), "dtr", 0);
  if (plain.peak_live_bytes <= budget_bytes) return plain;
  const Problem problem(trace);
  OnlineRun online(problem, static_cast<double>(budget_bytes), 20 * static_cast<int64_t>(problem.step_count));
  std::vector<int32_t> steps;
  for (int32_t s : online.run())
    if (s >= problem.first_step && s < problem.first_step + problem.trace_steps)
      steps.push_back(s - problem.first_step);
  return make_plan(trace, std::move(steps), "dtr", online.looks());
}

}  // namespace tidemark::memory
