// What branch and bound asks about one node: a bound that is true, and a linear optimum.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "memory/recompute/bound/dual_simplex.h"
#include "memory/recompute/bound/linear_program.h"
#include "memory/recompute/bound/rounding_cuts.h"

namespace tidemark::memory::recompute {

struct Node {
  double bound = 0;  // nothing in the box costs less
  Box box;
  DualSimplex::Basis basis;
};

// Bounds come from the multipliers (bound_of_multipliers), so they hold whatever the simplex method rounds or leaves
// undone.
class NodeSolver {
 public:
  enum class Verdict { open, closed, whole };

  explicit NodeSolver(const LinearProgram& program) : program_(program), simplex_(new DualSimplex(program)) {}

  const LinearProgram& program() const { return program_; }
  // Further rows; the node's basis stays one.
  void add_rows(const std::vector<Cut>& cuts, const Node& node);

  // From where the simplex method stands. Raises the node's bound, fixes variables whose other end costs `enough`.
  // closed: nothing in the box costs less than `enough`. whole: solution() is the optimum of the box in whole numbers.
  Verdict solve(Node& node, double enough, int64_t work_limit);
  const std::vector<double>& solution() const { return solution_; }
  double cost_of_solution() const;
  std::vector<double> multipliers() { return simplex_->multipliers(); }

  void stand_at(const Node& node) { simplex_->set_basis(node.basis); }
  // Comes back to what is as it was at save().
  void save() { state_ = simplex_->save(); }
  void restore() { simplex_->restore(state_); }
  // About what the linear optimum of a box costs, from the saved state; not above `enough`, and no true bound.
  double guess_cost(const Box& box, double enough, int64_t work_limit);

  int64_t work() const { return work_ + simplex_->work(); }

 private:
  bool ray_reaches(const Node& node, const std::vector<double>& multipliers, double enough);
  void fix_by_cost(Node& node, double enough) const;

  LinearProgram program_;
  std::unique_ptr<DualSimplex> simplex_;
  DualSimplex::State state_;
  std::vector<double> solution_;
  std::vector<double> reduced_costs_;
  int64_t work_ = 0;
};

}  // namespace tidemark::memory::recompute
