#include "memory/recompute/bound/checkpoint_program.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace tidemark::memory::recompute {
namespace {

using Term = LinearProgram::Term;
using Literals = std::vector<Literal>;

class ProgramMaker {
 public:
  ProgramMaker(const Problem& problem, double budget_bytes, const CheckpointOptions& options)
      : problem_(problem), options_(options), room_(budget_bytes - problem.fixed_bytes) {}

  CheckpointProgram run(std::vector<int32_t> stages) {
    made_.stages = std::move(stages);
    for (size_t k = 0; k < count(); ++k) {
      add_variables(k);
      add_memory_row(k);
      if (k > 0) add_residency_rows(k);
      add_input_rows(k, agains_[k]);
      if (k > 0 && stage(k) == stage(k - 1) + 1) add_rerun_rows(k - 1);
    }
    if (count() > 1) add_rows_to_the_end(fullest_);
    for (size_t k = 0; k < count(); ++k) add_count_rows(k);
    return std::move(made_);
  }

 private:
  size_t count() const { return made_.stages.size(); }
  int32_t stage(size_t k) const { return made_.stages[k]; }
  int32_t epoch_end(size_t k) const { return k + 1 < count() ? stage(k + 1) : problem_.step_count - 1; }

  double cost(int32_t s) const { return problem_.cost[s] / options_.cost_scale; }

  // What a base step after the stage may rest on: no other value is worth keeping or making again.
  std::vector<bool> values_of_use(int32_t stage) const {
    std::vector<bool> of_use(problem_.value_count(), false);
    for (int32_t s = problem_.step_count - 1; s > 0; --s) {
      bool runs = s > stage;
      for (int32_t v : problem_.outputs[s]) runs = runs || (of_use[v] && problem_.may_repeat(s, stage + 1));
      if (!runs) continue;
      for (int32_t v : problem_.inputs[s]) of_use[v] = true;
    }
    return of_use;
  }

  // What base steps read after the stage, up to stage `end`, and was made before.
  std::vector<bool> needed_values(int32_t stage, int32_t end) const {
    std::vector<bool> needed(problem_.value_count(), false);
    for (int32_t s = stage + 1; s <= end; ++s)
      for (int32_t v : problem_.inputs[s]) needed[v] = problem_.maker[v] <= stage;
    return needed;
  }

  bool may_run_again(int32_t s, int32_t stage, const std::vector<bool>& of_use) const {
    if (!problem_.may_repeat(s, stage + 1) || cost(s) > options_.known_cost) return false;
    const auto outputs = problem_.outputs[s];
    return std::any_of(outputs.begin(), outputs.end(), [&](int32_t v) { return of_use[v]; });
  }

  // A needed value is resident or made again; both at once is never better than the latter alone.
  void add_variables(size_t k) {
    const std::vector<bool> of_use = values_of_use(stage(k));
    const std::vector<bool> needed = needed_values(stage(k), epoch_end(k));
    Literals again(problem_.step_count, Literal::zero());
    for (int32_t s = 1; s <= stage(k); ++s)
      if (may_run_again(s, stage(k), of_use)) again[s] = {made_.linear.add_variable(cost(s))};
    Literals resident(problem_.value_count(), Literal::zero());
    for (int32_t v = 0; v < problem_.value_count(); ++v)
      if (problem_.maker[v] < stage(k) && of_use[v])
        resident[v] = needed[v] ? !again[problem_.maker[v]] : Literal{made_.linear.add_variable(0)};
    for (int32_t v : problem_.inputs[stage(k)]) resident[v] = Literal::one();
    for (int32_t v : problem_.outputs[stage(k)]) resident[v] = Literal::one();
    made_.resident.push_back(std::move(resident));
    agains_.push_back(std::move(again));
    needed_.push_back(needed);
  }

  // What a run of the step holds by itself.
  double own_bytes(int32_t step) const {
    double bytes = problem_.workspace_bytes[step];
    for (int32_t v : problem_.inputs[step]) bytes += problem_.bytes[v];
    for (int32_t v : problem_.outputs[step]) {
      bytes += problem_.bytes[v];
      if (problem_.predecessor[v] >= 0) bytes -= std::min(problem_.bytes[v], problem_.bytes[problem_.predecessor[v]]);
    }
    return bytes;
  }

  bool is_own(int32_t step, int32_t v) const {
    const auto inputs = problem_.inputs[step];
    return problem_.maker[v] == step || std::find(inputs.begin(), inputs.end(), v) != inputs.end();
  }

  void begin_row(double rhs) {
    terms_.clear();
    rhs_ = rhs;
  }
  void add_term(Literal literal, double factor) {
    if (literal.negated) rhs_ -= factor;
    if (literal.variable < 0) return;
    if (literal.negated) factor = -factor;
    // Outputs of one step can share a variable.
    position_of_.resize(made_.linear.variables(), 0);
    size_t& position = position_of_[literal.variable];
    if (position < terms_.size() && terms_[position].variable == literal.variable) {
      terms_[position].factor += factor;
      return;
    }
    position = terms_.size();
    terms_.push_back({literal.variable, factor});
  }
  void end_row() {
    double least = 0;
    double largest = 0;
    for (const Term& term : terms_) {
      least += std::min(0.0, term.factor);
      largest = std::max(largest, std::abs(term.factor));
    }
    if (least >= rhs_) return;
    std::erase_if(terms_, [](const Term& term) { return term.factor == 0; });
    for (Term& term : terms_) term.factor /= std::max(largest, 1e-9);
    made_.linear.add_row(terms_, rhs_ / std::max(largest, 1e-9));
  }

  // While the base step runs: its own values are there, and what is resident.
  void add_memory_row(size_t k) {
    begin_row(own_bytes(stage(k)) - room_);
    double all = own_bytes(stage(k));
    for (int32_t v = 0; v < problem_.value_count(); ++v) {
      if (is_own(stage(k), v) || made_.resident[k][v].is_zero()) continue;
      add_term(made_.resident[k][v], -problem_.bytes[v]);
      all += problem_.bytes[v];
    }
    end_row();
    if (all <= most_bytes_) return;
    most_bytes_ = all;
    fullest_ = k;
  }

  // Between two neighbouring stages the time of a repeated run is known: what is resident after it, and is not made
  // again in between, is there beside it.
  void add_rerun_rows(size_t k) {
    const auto again = [&](int32_t s) { return agains_[k][s]; };
    int64_t runs = 0;
    for (int32_t s = 1; s <= stage(k); ++s) runs += again(s).is_zero() ? 0 : 1;
    if (runs * stage(k) > options_.rerun_terms) return;
    Literals across(problem_.value_count(), Literal::zero());
    for (int32_t v = 0; v < problem_.value_count(); ++v) {
      const Literal after = made_.resident[k + 1][v];
      const Literal between = again(problem_.maker[v]);
      if (problem_.maker[v] > stage(k) || problem_.bytes[v] <= 0 || after.is_zero()) continue;
      across[v] = between.is_zero() ? after : Literal{made_.linear.add_variable(0)};
      if (!between.is_zero()) add_cover(across[v], between, after);
    }
    for (int32_t s = 1; s <= stage(k); ++s)
      if (!again(s).is_zero()) add_rerun_row(s, again(s), across);
  }

  void add_rerun_row(int32_t s, Literal again, const Literals& across) {
    begin_row(-room_);
    add_term(again, -own_bytes(s));
    for (int32_t v = 0; v < problem_.value_count(); ++v)
      if (!across[v].is_zero() && !is_own(s, v)) add_term(across[v], -problem_.bytes[v]);
    end_row();
  }

  // a + b >= what needs them.
  void add_cover(Literal a, Literal b, Literal needer) {
    if (a.is_one() || needer.is_zero()) return;
    begin_row(0);
    add_term(a, 1);
    add_term(b, 1);
    add_term(needer, -1);
    end_row();
  }

  void add_residency_rows(size_t k) {
    for (int32_t v = 0; v < problem_.value_count(); ++v)
      if (problem_.maker[v] <= stage(k - 1) && !needed_[k - 1][v])
        add_cover(made_.resident[k - 1][v], agains_[k - 1][problem_.maker[v]], made_.resident[k][v]);
  }

  void add_input_rows(size_t k, const Literals& again) {
    for (int32_t s = 1; s <= stage(k); ++s)
      for (int32_t v : problem_.inputs[s])
        if (!needed_[k][v]) add_cover(made_.resident[k][v], again[problem_.maker[v]], again[s]);
  }

  // The program of stage k alone, over the sums of all later epochs. Whole numbers fulfil these rows anyway; fractions
  // would else count a half that ran and its half that stayed resident twice, and several stages say less than one.
  // Worth its rows for the stage with the most bytes.
  void add_rows_to_the_end(size_t k) {
    const std::vector<bool> needed = needed_values(stage(k), problem_.step_count - 1);
    Literals ever(problem_.step_count, Literal::zero());
    for (int32_t s = 1; s <= stage(k); ++s) {
      begin_row(0);
      for (size_t j = k; j < count(); ++j) add_term(agains_[j][s], 1);
      if (terms_.empty()) continue;
      ever[s] = {made_.linear.add_variable(0)};
      add_term(ever[s], -1);
      end_row();
    }
    for (int32_t v = 0; v < problem_.value_count(); ++v)
      if (needed[v]) add_cover(made_.resident[k][v], ever[problem_.maker[v]], Literal::one());
    for (int32_t s = 1; s <= stage(k); ++s)
      for (int32_t v : problem_.inputs[s])
        if (!needed[v]) add_cover(made_.resident[k][v], ever[problem_.maker[v]], ever[s]);
  }

  // Values of the same size by steps of the same cost are alike, mostly: layers repeat.
  void add_count_rows(size_t k) {
    std::map<std::tuple<double, double, bool>, std::vector<int32_t>> groups;
    for (int32_t v = 0; v < problem_.value_count(); ++v) {
      const int32_t maker = problem_.maker[v];
      const Literal resident = made_.resident[k][v];
      const Literal again = maker <= stage(k) ? agains_[k][maker] : Literal::zero();
      const auto add = [&](int32_t variable, bool is_resident) {
        std::vector<int32_t>& group = groups[{problem_.bytes[v], problem_.cost[maker], is_resident}];
        if (group.empty() || group.back() != variable) group.push_back(variable);
      };
      if (again.variable >= 0) add(again.variable, false);
      if (resident.variable >= 0 && !resident.negated) add(resident.variable, true);
    }
    for (const auto& [key, group] : groups)
      if (group.size() > 1) made_.linear.add_count_row(group);
  }

  const Problem& problem_;
  const CheckpointOptions options_;
  const double room_;
  CheckpointProgram made_;
  std::vector<Literals> agains_;           // by epoch, by step
  std::vector<std::vector<bool>> needed_;  // by epoch, by value: base steps read it in the epoch
  double most_bytes_ = 0;                  // that could be of use at one stage
  size_t fullest_ = 0;
  std::vector<Term> terms_;          // of the row at work
  std::vector<size_t> position_of_;  // of a variable among them
  double rhs_ = 0;
};

}  // namespace

CheckpointProgram make_checkpoint_program(const Problem& problem, double budget_bytes, std::vector<int32_t> stages,
                                          const CheckpointOptions& options) {
  return ProgramMaker(problem, budget_bytes, options).run(std::move(stages));
}

}  // namespace tidemark::memory::recompute
