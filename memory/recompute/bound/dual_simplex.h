// The dual simplex method on a linear program over a part of its box.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/recompute/bound/basis_factor.h"
#include "memory/recompute/bound/linear_program.h"

namespace tidemark::memory::recompute {

// Note [Dual simplex]
// Bounded dual simplex (Koberstein 2005): a row's surplus is a variable of its own, the start is the basis of all
// surpluses, feasible for the dual because every variable can stand at the end of its range that its cost prefers. The
// leaving row is chosen by steepest edge, the entering variable by the long-step ratio test, which steps over variables
// that can flip to their other end. Costs are made slightly unequal at the start, and shifted where rounding would
// break dual feasibility: the multipliers then belong to slightly other costs, which a bound made of them
// (bound_of_multipliers) does not notice, since any multipliers make a true one.
class DualSimplex {
 public:
  enum class End { optimal, infeasible, enough, out_of_work };
  enum class Place : uint8_t { basic, low, high };
  using Basis = std::vector<Place>;  // of the variables, then of the rows' surpluses

  // Keeps its own copy of the program. Stands at `basis`, or at the surpluses where that is empty; surpluses that the
  // basis does not know are basic.
  explicit DualSimplex(const LinearProgram& program, Basis basis = {});

  void set_box(const Box& box);
  void set_basis(const Basis& basis);
  // Until the cost reaches `enough`.
  End run(double enough, int64_t work_limit);

  // What a run changes, to come back to it.
  struct State {
    Basis place;
    std::vector<int32_t> head;
    std::vector<double> weight, at, reduced, cost;
    int64_t factorization = 0;
    int32_t replaced = 0;
  };
  State save() const { return {place_, head_, weight_, at_, reduced_, cost_, factorization_, factor_.replaced()}; }
  void restore(const State& state);  // the box stays as it is: set it next

  const Basis& basis() const { return place_; }
  double value(int32_t variable) const { return at_[variable]; }
  double cost() const;
  // One per row, >= 0 but for count rows. After End::infeasible: adding any positive multiple of the ray is as good,
  // and its bound grows without end.
  std::vector<double> multipliers();
  std::vector<double> ray() const;
  int64_t work() const { return work_ + factor_.work(); }

 private:
  bool is_surplus(int32_t j) const { return j >= variables_; }
  BasisFactor::Column column(int32_t j) const {
    return {columns_.data() + starts_[j], columns_.data() + starts_[j + 1]};
  }
  void make_columns(const LinearProgram& program);
  void refactor();
  void prepare();
  void find_reduced_costs();
  void find_values();
  void stand(int32_t j);
  int32_t choose_leaving() const;
  int32_t leaving_row(int32_t wanted) const;
  double infeasibility(int32_t j) const;
  void find_row(int32_t row);
  int32_t choose_entering(double slope, double sign);
  bool pivot(int32_t row, int32_t entering, double sign);
  void flip_chosen();
  void update_reduced_costs(int32_t entering, int32_t leaving, double sign);
  void update_weights(int32_t row);
  void exchange(int32_t row, int32_t entering, double sign);

  std::vector<double> with_signs(std::vector<double> w) const;

  int32_t variables_ = 0;
  int32_t rows_ = 0;
  std::vector<int32_t> starts_;
  std::vector<SparseEntry> columns_;  // of all, surpluses included
  std::vector<int32_t> row_starts_;
  std::vector<LinearProgram::Term> row_terms_;
  std::vector<double> rhs_;
  std::vector<int32_t> count_rows_;
  std::vector<double> cost_;        // of all: as it is now, and as it was
  std::vector<double> low_, high_;  // of all
  std::vector<double> at_;          // value, of all
  std::vector<double> reduced_;     // cost, of all
  Basis place_;
  std::vector<int32_t> head_;   // basic variable, by row
  std::vector<double> weight_;  // steepest edge, by row
  BasisFactor factor_;
  int64_t work_ = 0;
  int64_t factorization_ = 0;
  bool factored_ = false;    // factor_ and reduced_ belong to the basis
  bool has_values_ = false;  // at_ belongs to the basis and the box

  // Of one iteration.
  struct Candidate {
    int32_t variable = 0;
    double slope = 0;  // > 0
    double ratio = 0;
  };
  std::vector<double> rho_;     // row of the inverse
  std::vector<double> solved_;  // entering column
  std::vector<double> edge_;
  std::vector<double> alpha_;      // row of the tableau, of all
  std::vector<int32_t> alpha_of_;  // where alpha_ may differ from 0
  std::vector<Candidate> candidates_;
  std::vector<int32_t> flips_;
};

}  // namespace tidemark::memory::recompute
