// A lower bound on a linear program without a solver library.
#pragma once

#include <cstdint>
#include <vector>

namespace tidemark::memory::recompute {

// minimise cost . z subject to rows . z >= rhs and 0 <= z <= 1.
class LinearProgram {
 public:
  struct Term {
    int32_t variable = 0;
    double factor = 0;
  };

  int32_t add_variable(double cost);
  void add_row(const std::vector<Term>& terms, double rhs);

  int32_t variables() const { return static_cast<int32_t>(costs_.size()); }
  int32_t rows() const { return static_cast<int32_t>(rhs_.size()); }
  int64_t terms() const { return static_cast<int64_t>(terms_.size()); }

  const std::vector<double>& costs() const { return costs_; }
  const std::vector<double>& rhs() const { return rhs_; }
  const std::vector<int32_t>& row_starts() const { return row_starts_; }
  const std::vector<Term>& all_terms() const { return terms_; }

 private:
  std::vector<double> costs_;
  std::vector<double> rhs_;
  std::vector<int32_t> row_starts_{0};
  std::vector<Term> terms_;
};

// Note [Dual bound]
// For any multipliers w >= 0 the minimum over the box of cost . z + w . (rhs - rows . z) is a lower bound on the
// program, found variable by variable. So a method need not converge to give a true bound, only to give a good one. The
// multipliers come from the primal-dual hybrid gradient method (Chambolle, Pock 2011) with diagonal step sizes (Pock,
// Chambolle 2011) and restarts from the average of the iterates (Applegate et al. 2021).
//
// work_limit: terms looked at. `enough`: stops when the bound is not below this.
double dual_bound(const LinearProgram& program, int64_t work_limit, double enough);

// The same for variables that are 0 or 1, by branch and bound: never below what dual_bound() finds with half the work,
// and never above `enough`.
double integer_bound(const LinearProgram& program, int64_t work_limit, double enough);

}  // namespace tidemark::memory::recompute
