#include "memory/recompute/bound/node_solver.h"

#include <algorithm>
#include <cmath>

namespace tidemark::memory::recompute {
namespace {

constexpr double kWhole = 1e-6;
constexpr int kRayTries = 20;

bool is_whole(const std::vector<double>& solution) {
  return std::all_of(solution.begin(), solution.end(), [](double z) { return z < kWhole || z > 1 - kWhole; });
}

}  // namespace

void NodeSolver::add_rows(const std::vector<Cut>& cuts, const Node& node) {
  for (const Cut& cut : cuts) program_.add_row(cut.terms, cut.rhs);
  work_ += simplex_->work() + 10 * program_.terms();
  simplex_ = std::make_unique<DualSimplex>(program_, node.basis);
}

NodeSolver::Verdict NodeSolver::solve(Node& node, double enough, int64_t work_limit) {
  simplex_->set_box(node.box);
  // A little further: the simplex method's costs are not quite the true ones.
  const DualSimplex::End end = simplex_->run(enough * (1 + 1e-7) + 1e-6, work_limit);
  const std::vector<double> w = simplex_->multipliers();
  node.bound = std::max(node.bound, bound_of_multipliers(program_, node.box, w, reduced_costs_));
  work_ += program_.terms() + program_.variables();
  if (node.bound >= enough) return Verdict::closed;
  if (end == DualSimplex::End::infeasible && ray_reaches(node, w, enough)) return Verdict::closed;
  fix_by_cost(node, enough);
  node.basis = simplex_->basis();
  solution_.resize(program_.variables());
  for (int32_t j = 0; j < program_.variables(); ++j) solution_[j] = std::clamp(simplex_->value(j), 0.0, 1.0);
  return end == DualSimplex::End::optimal && is_whole(solution_) ? Verdict::whole : Verdict::open;
}

double NodeSolver::cost_of_solution() const {
  double cost = 0;
  for (int32_t j = 0; j < program_.variables(); ++j) cost += solution_[j] > 0.5 ? program_.costs()[j] : 0;
  return cost;
}

bool NodeSolver::ray_reaches(const Node& node, const std::vector<double>& multipliers, double enough) {
  const std::vector<double> ray = simplex_->ray();
  std::vector<double> reduced;
  double factor = 1;
  for (int i = 0; i < kRayTries; ++i, factor *= 8) {
    std::vector<double> sum(multipliers);
    for (size_t r = 0; r < sum.size(); ++r) sum[r] += factor * ray[r];
    if (bound_of_multipliers(program_, node.box, sum, reduced) >= enough) return true;
  }
  return false;
}

void NodeSolver::fix_by_cost(Node& node, double enough) const {
  for (int32_t j = 0; j < program_.variables(); ++j)
    if (node.box.variables[j] == Fixing::free && node.bound + std::abs(reduced_costs_[j]) >= enough)
      node.box.variables[j] = reduced_costs_[j] > 0 ? Fixing::zero : Fixing::one;
}

double NodeSolver::guess_cost(const Box& box, double enough, int64_t work_limit) {
  restore();
  simplex_->set_box(box);
  const DualSimplex::End end = simplex_->run(enough, work_limit);
  return end == DualSimplex::End::infeasible ? enough : std::min(simplex_->cost(), enough);
}

}  // namespace tidemark::memory::recompute
