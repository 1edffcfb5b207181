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
      add_need_rows(k, epoch_end(k), resident_, again_);
      add_input_rows(k, resident_, again_);
      residents_.push_back(std::move(resident_));
      agains_.push_back(std::move(again_));
    }
    for (size_t k = 0; k + 1 < stages_.size(); ++k) add_rows_to_the_end(k);
    return std::move(program_);
  }

 private:
  using Term = LinearProgram::Term;
  using Variables = std::vector<int32_t>;

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
        add_cover(residents_.back()[v], agains_.back()[problem_.maker[v]], resident_[v]);
  }

  // What base steps read after stage k, up to stage `end`, and was made before.
  void add_need_rows(size_t k, int32_t end, const Variables& resident, const Variables& again) {
    std::vector<bool> done(problem_.value_count(), false);
    for (int32_t s = stages_[k] + 1; s <= end; ++s)
      for (int32_t v : problem_.inputs[s]) {
        if (problem_.maker[v] > stages_[k] || done[v]) continue;
        done[v] = true;
        add_cover(resident[v], again[problem_.maker[v]], kOne);
      }
  }

  void add_input_rows(size_t k, const Variables& resident, const Variables& again) {
    for (int32_t s = 1; s <= stages_[k]; ++s)
      for (int32_t v : problem_.inputs[s]) add_cover(resident[v], again[problem_.maker[v]], again[s]);
  }

  // The program of stage k alone, over the sums of all later epochs. Whole numbers fulfil these rows anyway; fractions
  // would else count a half that ran and its half that stayed resident twice, and several stages say less than one.
  void add_rows_to_the_end(size_t k) {
    Variables ever(problem_.step_count, kZero);
    for (int32_t s = 1; s <= stages_[k]; ++s) {
      terms_.clear();
      for (size_t j = k; j < stages_.size(); ++j)
        if (agains_[j][s] >= 0) terms_.push_back({agains_[j][s], 1});
      if (terms_.empty()) continue;
      ever[s] = program_.add_variable(0);
      terms_.push_back({ever[s], -1});
      program_.add_row(terms_, 0);
    }
    add_need_rows(k, problem_.step_count - 1, residents_[k], ever);
    add_input_rows(k, residents_[k], ever);
  }

  const Problem& problem_;
  const double budget_;
  const std::vector<int32_t>& stages_;
  const double cost_scale_;
  LinearProgram program_;
  Variables resident_;                // of the epoch at work, by value: variable, or kZero, kOne
  Variables again_;                   // by step
  std::vector<Variables> residents_;  // of the epochs before
  std::vector<Variables> agains_;
  std::vector<Term> terms_;
};

// What a base step holds by itself: inputs, outputs, workspace.
std::vector<double> step_bytes(const Problem& problem) {
  std::vector<double> bytes(problem.workspace_bytes);
  for (int32_t t = 0; t < problem.step_count; ++t) {
    for (int32_t v : problem.inputs[t]) bytes[t] += problem.bytes[v];
    for (int32_t v : problem.outputs[t]) {
      bytes[t] += problem.bytes[v];
      const int32_t before = problem.predecessor[v];
      if (before >= 0) bytes[t] -= std::min(problem.bytes[v], problem.bytes[before]);
    }
  }
  return bytes;
}

// Of several equal ones in a row the first.
bool is_local_maximum(const std::vector<double>& bytes, int32_t t) {
  const auto i = static_cast<size_t>(t);
  return (i == 0 || bytes[i - 1] < bytes[i]) && (i + 1 == bytes.size() || bytes[i + 1] <= bytes[i]);
}

}  // namespace

std::vector<int32_t> choose_checkpoints(const PlanState& plain, int count, CheckpointRule rule) {
  const std::vector<double>& plain_bytes = plain.stage_bytes();
  const auto worst =
      static_cast<int32_t>(std::max_element(plain_bytes.begin(), plain_bytes.end()) - plain_bytes.begin());
  if (plain_bytes[worst] <= plain.budget_bytes()) return {};
  const std::vector<double> bytes =
      rule == CheckpointRule::peaks_of_plain_order ? plain_bytes : step_bytes(plain.problem());
  const int32_t first = rule == CheckpointRule::step_peaks_after_worst ? worst : 0;
  std::vector<int32_t> others;
  for (int32_t t = first; t < plain.problem().step_count; ++t)
    if (t != worst && plain_bytes[t] > plain.budget_bytes() && is_local_maximum(bytes, t)) others.push_back(t);
  std::vector<int32_t> chosen = {worst};
  const auto wanted = std::min(others.size(), static_cast<size_t>(std::max(count - 1, 0)));
  for (size_t j = 0; j < wanted; ++j)
    chosen.push_back(others[j * (others.size() - 1) / std::max<size_t>(1, wanted - 1)]);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

LinearProgram make_checkpoint_program(const Problem& problem, double budget_bytes, const std::vector<int32_t>& stages,
                                      double cost_scale) {
  return ProgramMaker(problem, budget_bytes, stages, cost_scale).run();
}

}  // namespace tidemark::memory::recompute
