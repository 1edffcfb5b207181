#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "memory/recompute/bound/dual_simplex.h"

// The iterations of Note [Dual simplex].
namespace tidemark::memory::recompute {
namespace {

constexpr double kEndless = std::numeric_limits<double>::infinity();
constexpr double kPrimalTolerance = 1e-7;
constexpr double kDualTolerance = 1e-9;
constexpr double kSmallestPivot = 1e-7;
constexpr double kNothing = 1e-13;
constexpr double kAlmostNothing = 1e-100;  // not 0: is listed
constexpr double kLeastWeight = 1e-4;
constexpr double kDoubt = 1e-6;  // between two ways to find a pivot
constexpr int kMostDoubts = 20;
constexpr int32_t kRefactorAfter = 60;
constexpr int kCostCheckEvery = 10;
constexpr int kPivotsPerRow = 40;
constexpr double kPutOff = 1e6;  // a row's weight: another one first
constexpr int32_t kNoneEnters = -1;
constexpr int32_t kDoubtful = -2;

}  // namespace

double DualSimplex::infeasibility(int32_t j) const {
  return at_[j] < low_[j] ? at_[j] - low_[j] : at_[j] > high_[j] ? at_[j] - high_[j] : 0;
}

int32_t DualSimplex::choose_leaving() const {
  int32_t chosen = -1;
  double most = 0;
  for (int32_t r = 0; r < rows_; ++r) {
    const double distance = infeasibility(head_[r]);
    if (std::abs(distance) <= kPrimalTolerance || distance * distance <= most * weight_[r]) continue;
    most = distance * distance / weight_[r];
    chosen = r;
  }
  return chosen;
}

void DualSimplex::find_row(int32_t row) {
  rho_.assign(rows_, 0);
  rho_[row] = 1;
  factor_.solve_transposed(rho_);
  for (int32_t j : alpha_of_) alpha_[j] = 0;
  alpha_of_.clear();
  const auto add = [&](int32_t j, double value) {
    if (place_[j] == Place::basic) return;
    if (alpha_[j] == 0) alpha_of_.push_back(j);
    alpha_[j] += value;
    if (alpha_[j] == 0) alpha_[j] = kAlmostNothing;
  };
  for (int32_t r = 0; r < rows_; ++r) {
    if (std::abs(rho_[r]) < kNothing) continue;
    for (int32_t i = row_starts_[r]; i < row_starts_[r + 1]; ++i)
      add(row_terms_[i].variable, rho_[r] * row_terms_[i].factor);
    add(variables_ + r, rho_[r]);
    work_ += row_starts_[r + 1] - row_starts_[r];
  }
  work_ += 2 * rows_;
}

// The long-step ratio test: steps over candidates while the dual cost still grows. Of those about equally near, the one
// with the largest pivot.
int32_t DualSimplex::choose_entering(double slope, double sign) {
  candidates_.clear();
  flips_.clear();
  for (int32_t j : alpha_of_) {
    const double alpha = sign * alpha_[j];
    if (std::abs(alpha) < kDualTolerance || low_[j] == high_[j]) continue;
    if (alpha > 0 ? place_[j] != Place::low : place_[j] != Place::high) continue;
    candidates_.push_back({j, std::abs(alpha), std::abs(reduced_[j]) / std::abs(alpha)});
  }
  size_t begin = 0;
  while (begin < candidates_.size()) {
    double nearest = kEndless;
    for (size_t i = begin; i < candidates_.size(); ++i)
      nearest = std::min(nearest, candidates_[i].ratio + kDualTolerance / candidates_[i].slope);
    const auto middle = std::partition(candidates_.begin() + static_cast<ptrdiff_t>(begin), candidates_.end(),
                                       [&](const Candidate& c) { return c.ratio <= nearest; });
    const auto end = static_cast<size_t>(middle - candidates_.begin());
    double after = slope;
    size_t best = begin;
    for (size_t i = begin; i < end; ++i) {
      after -= candidates_[i].slope * (high_[candidates_[i].variable] - low_[candidates_[i].variable]);
      if (candidates_[i].slope > candidates_[best].slope) best = i;
    }
    work_ += static_cast<int64_t>(candidates_.size() - begin);
    if (after < kPrimalTolerance)
      return candidates_[best].slope < kSmallestPivot ? kDoubtful : candidates_[best].variable;
    slope = after;
    for (size_t i = begin; i < end; ++i) flips_.push_back(candidates_[i].variable);
    begin = end;
  }
  return kNoneEnters;
}

void DualSimplex::flip_chosen() {
  if (flips_.empty()) return;
  edge_.assign(rows_, 0);
  for (int32_t j : flips_) {
    const double to = place_[j] == Place::low ? high_[j] : low_[j];
    for (const SparseEntry& entry : column(j)) edge_[entry.row] += entry.value * (to - at_[j]);
    place_[j] = place_[j] == Place::low ? Place::high : Place::low;
    at_[j] = to;
  }
  factor_.solve(edge_);
  for (int32_t r = 0; r < rows_; ++r) at_[head_[r]] -= edge_[r];
  work_ += rows_;
}

// What would change sides within the tolerance gets another cost instead.
void DualSimplex::update_reduced_costs(int32_t entering, int32_t leaving, double sign) {
  double step = reduced_[entering] / alpha_[entering];
  if (step * sign < 0) {
    cost_[entering] -= reduced_[entering];
    reduced_[entering] = 0;
    step = 0;
  }
  for (int32_t j : alpha_of_) {
    reduced_[j] -= step * alpha_[j];
    const bool wrong = place_[j] == Place::low ? reduced_[j] < 0 : reduced_[j] > 0;
    if (!wrong || low_[j] == high_[j]) continue;
    cost_[j] -= reduced_[j];
    reduced_[j] = 0;
  }
  reduced_[entering] = 0;
  reduced_[leaving] = -step;
}

void DualSimplex::update_weights(int32_t row) {
  edge_ = rho_;
  factor_.solve(edge_);
  const double pivot = solved_[row];
  const double weight = weight_[row];
  for (int32_t r = 0; r < rows_; ++r) {
    if (solved_[r] == 0 || r == row) continue;
    const double share = solved_[r] / pivot;
    weight_[r] = std::max(weight_[r] - 2 * share * edge_[r] + share * share * weight, kLeastWeight);
  }
  weight_[row] = std::max(weight / (pivot * pivot), kLeastWeight);
  work_ += 2 * rows_;
}

void DualSimplex::exchange(int32_t row, int32_t entering, double sign) {
  const int32_t leaving = head_[row];
  const double end = sign > 0 ? high_[leaving] : low_[leaving];
  const double step = (at_[leaving] - end) / solved_[row];
  for (int32_t r = 0; r < rows_; ++r) at_[head_[r]] -= step * solved_[r];
  at_[leaving] = end;
  at_[entering] += step;
  place_[leaving] = sign > 0 ? Place::high : Place::low;
  place_[entering] = Place::basic;
  head_[row] = entering;
  factor_.replace(row, solved_);
  work_ += 2 * rows_;
}

// False where rounding makes the pivot doubtful.
bool DualSimplex::pivot(int32_t row, int32_t entering, double sign) {
  solved_.assign(rows_, 0);
  for (const SparseEntry& entry : column(entering)) solved_[entry.row] = entry.value;
  factor_.solve(solved_);
  const double expected = alpha_[entering];
  if (std::abs(solved_[row] - expected) > kDoubt * (1 + std::abs(expected)) && factor_.replaced() > 0) return false;
  if (std::abs(solved_[row]) < kSmallestPivot) return false;
  flip_chosen();
  update_reduced_costs(entering, head_[row], sign);
  update_weights(row);
  exchange(row, entering, sign);
  return true;
}

// The row of a variable that asks for another look, else the best.
int32_t DualSimplex::leaving_row(int32_t wanted) const {
  const auto found = std::find(head_.begin(), head_.end(), wanted);
  const auto row = static_cast<int32_t>(found - head_.begin());
  return wanted >= 0 && row < rows_ && infeasibility(wanted) != 0 ? row : choose_leaving();
}

DualSimplex::End DualSimplex::run(double enough, int64_t work_limit) {
  const int64_t end_of_work = work() + work_limit;
  const int most_pivots = kPivotsPerRow * (rows_ + kPivotsPerRow);
  int doubts = 0;
  int32_t wanted = -1;
  prepare();
  for (int iteration = 0; iteration < most_pivots; ++iteration) {
    if (factor_.replaced() >= kRefactorAfter) refactor();
    if (iteration % kCostCheckEvery == 0) {
      if (cost() >= enough) return End::enough;
      if (work() > end_of_work) return End::out_of_work;
      work_ += variables_ + rows_;
    }
    const int32_t row = leaving_row(std::exchange(wanted, -1));
    if (row < 0) {
      if (factor_.replaced() == 0) return End::optimal;
      refactor();
      if (choose_leaving() < 0) return End::optimal;
      continue;
    }
    const double distance = infeasibility(head_[row]);
    const double sign = distance > 0 ? 1 : -1;
    find_row(row);
    const int32_t entering = choose_entering(std::abs(distance), sign);
    if (entering == kNoneEnters && factor_.replaced() == 0) {
      for (double& value : rho_) value *= sign;
      return End::infeasible;
    }
    if (entering >= 0 && pivot(row, entering, sign)) {
      doubts = 0;
      continue;
    }
    if (++doubts > kMostDoubts) return End::out_of_work;
    if (entering == kNoneEnters) {
      wanted = head_[row];
    } else if (factor_.replaced() == 0) {
      weight_[row] *= kPutOff;
    }
    refactor();
  }
  return End::out_of_work;
}

}  // namespace tidemark::memory::recompute
