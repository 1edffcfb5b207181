#include "memory/recompute/search/checkpoint_program.h"

#include <algorithm>

namespace tidemark::memory::recompute {
namespace {

constexpr int32_t kZero = -1;  // a variable that is always 0
constexpr int32_t kOne = -2;   // a variable that is always 1

class ProgramMaker {
 public:
  ProgramMaker(const Problem& problem, double budget_bytes, const std::vector<int32_t>& stages, double cost_scale)
      : problem_(problem), budget_(budget_bytes), stages_(stages), cost_scale_(cost_scale) {}

  LinearProgram run() {
    for (size_t k = 0; k < stages_.size(); ++k) {
      add_variables(k);
      add_memory_row(k);
      if (k > 0) add_residency_rows(k);
      add_need_rows(k);
      add_input_rows(k);
      previous_resident_ = resident_;
      previous_again_ = again_;
    }
    return std::move(program_);
  }

 private:
  using Term = LinearProgram::Term;

  int32_t epoch_end(size_t k) const { return k + 1 < stages_.size() ? stages_[k + 1] : problem_.step_count - 1; }

  void add_variables(size_t k) {
    const int32_t stage = stages_[k];
    resident_.assign(problem_.value_count(), kZero);
    for (int32_t v = 0; v < problem_.value_count(); ++v)
      if (problem_.maker[v] < stage) resident_[v] = program_.add_variable(0);
    for (int32_t v : problem_.inputs[stage]) resident_[v] = kOne;
    for (int32_t v : problem_.outputs[stage]) resident_[v] = kOne;
    again_.assign(problem_.step_count, kZero);
    for (int32_t s = 1; s <= stage; ++s)
      if (problem_.may_repeat(s, stage + 1)) again_[s] = program_.add_variable(problem_.cost[s] / cost_scale_);
  }

  // While the base step runs: its own values are there, and what is resident.
  void add_memory_row(size_t k) {
    const int32_t stage = stages_[k];
    double room = budget_ - problem_.fixed_bytes - problem_.workspace_bytes[stage];
    for (int32_t v : problem_.inputs[stage]) room -= problem_.bytes[v];
    for (int32_t v : problem_.outputs[stage]) {
      room -= problem_.bytes[v];
      if (problem_.predecessor[v] >= 0) room += std::min(problem_.bytes[v], problem_.bytes[problem_.predecessor[v]]);
    }
    double largest = 1;
    for (int32_t v = 0; v < problem_.value_count(); ++v)
      if (resident_[v] >= 0) largest = std::max(largest, problem_.bytes[v]);
    terms_.clear();
    for (int32_t v = 0; v < problem_.value_count(); ++v)
      if (resident_[v] >= 0 && problem_.bytes[v] > 0) terms_.push_back({resident_[v], -problem_.bytes[v] / largest});
    program_.add_row(terms_, -room / largest);
  }

  // resident now + again >= what needs it (a constant 1, or a variable).
  void add_cover(int32_t resident, int32_t again, int32_t needer) {
    if (resident == kOne || needer == kZero) return;
    terms_.clear();
    if (resident >= 0) terms_.push_back({resident, 1});
    if (again >= 0) terms_.push_back({again, 1});
    if (needer >= 0) terms_.push_back({needer, -1});
    program_.add_row(terms_, needer == kOne ? 1 : 0);
  }

  void add_residency_rows(size_t k) {
    for (int32_t v = 0; v < problem_.value_count(); ++v)
      if (problem_.maker[v] <= stages_[k - 1])
        add_cover(previous_resident_[v], previous_again_[problem_.maker[v]], resident_[v]);
  }

  void add_need_rows(size_t k) {
    std::vector<bool> done(problem_.value_count(), false);
    for (int32_t s = stages_[k] + 1; s <= epoch_end(k); ++s)
      for (int32_t v : problem_.inputs[s]) {
        if (problem_.maker[v] > stages_[k] || done[v]) continue;
        done[v] = true;
        add_cover(resident_[v], again_[problem_.maker[v]], kOne);
      }
  }

  void add_input_rows(size_t k) {
    for (int32_t s = 1; s <= stages_[k]; ++s)
      for (int32_t v : problem_.inputs[s]) add_cover(resident_[v], again_[problem_.maker[v]], again_[s]);
  }

  const Problem& problem_;
  const double budget_;
  const std::vector<int32_t>& stages_;
  const double cost_scale_;
  LinearProgram program_;
  std::vector<int32_t> resident_;  // by value: variable, or kZero, kOne
  std::vector<int32_t> again_;     // by step
  std::vector<int32_t> previous_resident_;
  std::vector<int32_t> previous_again_;
  std::vector<Term> terms_;
};

}  // namespace

std::vector<int32_t> choose_checkpoints(const PlanState& plain, int count) {
  std::vector<int32_t> above;
  for (int32_t t = 0; t < plain.problem().step_count; ++t)
    if (plain.stage_bytes(t) > plain.budget_bytes()) above.push_back(t);
  if (static_cast<int>(above.size()) <= count) return above;
  std::vector<int32_t> chosen = {*std::max_element(
      above.begin(), above.end(), [&](int32_t a, int32_t b) { return plain.stage_bytes(a) < plain.stage_bytes(b); })};
  for (int j = 0; j + 1 < count; ++j) chosen.push_back(above[j * (above.size() - 1) / std::max(1, count - 2)]);
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

LinearProgram make_checkpoint_program(const Problem& problem, double budget_bytes, const std::vector<int32_t>& stages,
                                      double cost_scale) {
  return ProgramMaker(problem, budget_bytes, stages, cost_scale).run();
}

}  // namespace tidemark::memory::recompute
