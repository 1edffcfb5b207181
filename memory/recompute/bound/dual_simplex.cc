#include "memory/recompute/bound/dual_simplex.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tidemark::memory::recompute {
namespace {

// Of the costs: how unequal they are made.
constexpr double kJitter = 1e-6;
constexpr double kEndless = std::numeric_limits<double>::infinity();

// The same for the same variable on every machine, between 0.5 and 1.5.
double jitter(int32_t variable) {
  const uint32_t hash = (static_cast<uint32_t>(variable) + 1) * 2654435761u;
  return 0.5 + static_cast<double>(hash >> 8) / static_cast<double>(1 << 24);
}

}  // namespace

DualSimplex::DualSimplex(const LinearProgram& program, Basis basis)
    : variables_(program.variables()),
      rows_(program.rows()),
      row_starts_(program.row_starts()),
      row_terms_(program.all_terms()),
      rhs_(program.rhs()),
      count_rows_(program.count_rows()),
      cost_(program.costs()) {
  make_columns(program);
  for (double& value : rhs_) value = -value;
  for (LinearProgram::Term& term : row_terms_) term.factor = -term.factor;
  const auto all = static_cast<size_t>(variables_ + rows_);
  double mean = 0;
  for (double cost : cost_) mean += std::abs(cost);
  mean /= std::max(variables_, 1);
  for (int32_t j = 0; j < variables_; ++j) cost_[j] += kJitter * jitter(j) * (mean + std::abs(cost_[j]));
  cost_.resize(all, 0);
  low_.assign(all, 0);
  high_.assign(variables_, 1);
  high_.resize(all, kEndless);
  at_.assign(all, 0);
  reduced_.assign(all, 0);
  alpha_.assign(all, 0);
  set_basis(basis);
}

// As surplus - row . z = -rhs: then surpluses have unit columns.
void DualSimplex::make_columns(const LinearProgram& program) {
  starts_.assign(variables_ + rows_ + 1, 0);
  for (const LinearProgram::Term& term : row_terms_) ++starts_[term.variable + 1];
  for (int32_t j = 0; j < variables_; ++j) starts_[j + 1] += starts_[j];
  for (int32_t r = 0; r < rows_; ++r) starts_[variables_ + r + 1] = starts_[variables_ + r] + 1;
  columns_.resize(starts_.back());
  std::vector<int32_t> next(starts_.begin(), starts_.end() - 1);
  for (int32_t r = 0; r < program.rows(); ++r) {
    for (int32_t i = row_starts_[r]; i < row_starts_[r + 1]; ++i)
      columns_[next[row_terms_[i].variable]++] = {r, -row_terms_[i].factor};
    columns_[next[variables_ + r]] = {r, 1};
  }
}

void DualSimplex::set_basis(const Basis& basis) {
  place_ = basis;
  const auto all = static_cast<size_t>(variables_ + rows_);
  if (place_.empty()) place_.assign(variables_, Place::low);
  place_.resize(all, Place::basic);
  weight_.assign(rows_, 1);
  head_.clear();
  for (int32_t j = 0; j < variables_ + rows_; ++j)
    if (place_[j] == Place::basic) head_.push_back(j);
  factored_ = false;
}

void DualSimplex::set_box(const Box& box) {
  for (int32_t j = 0; j < variables_; ++j) {
    low_[j] = box.variables[j] == Fixing::one ? 1 : 0;
    high_[j] = box.variables[j] == Fixing::zero ? 0 : 1;
  }
  for (size_t c = 0; c < count_rows_.size(); ++c) {
    low_[variables_ + count_rows_[c]] = box.counts[c].low;
    high_[variables_ + count_rows_[c]] = box.counts[c].high;
  }
  has_values_ = false;
}

// A variable outside the basis stands at the end that its reduced cost prefers.
void DualSimplex::stand(int32_t j) {
  if (reduced_[j] < 0 && high_[j] < kEndless) place_[j] = Place::high;
  if (reduced_[j] > 0 || high_[j] == kEndless) place_[j] = Place::low;
  if (reduced_[j] < 0 && high_[j] == kEndless) {
    cost_[j] -= reduced_[j];
    reduced_[j] = 0;
  }
  at_[j] = place_[j] == Place::high ? high_[j] : low_[j];
}

void DualSimplex::refactor() {
  std::vector<double> weight_of(weight_);
  std::vector<BasisFactor::Column> columns;
  for (int32_t j : head_) columns.push_back(column(j));
  const std::vector<int32_t> heads = head_;
  const std::vector<int32_t> row_of = factor_.factor(rows_, columns);
  head_.assign(rows_, -1);
  weight_.assign(rows_, 1);
  for (size_t i = 0; i < heads.size(); ++i) {
    if (row_of[i] >= 0) {
      head_[row_of[i]] = heads[i];
      weight_[row_of[i]] = i < weight_of.size() ? weight_of[i] : 1;
    } else {
      place_[heads[i]] = Place::low;
    }
  }
  for (int32_t r = 0; r < rows_; ++r)
    if (head_[r] < 0) {
      head_[r] = variables_ + r;
      place_[variables_ + r] = Place::basic;
    }
  find_reduced_costs();
  find_values();
  factored_ = true;
  ++factorization_;
}

void DualSimplex::prepare() {
  if (!factored_) return refactor();
  if (!has_values_) find_values();
}

void DualSimplex::restore(const State& state) {
  place_ = state.place;
  head_ = state.head;
  weight_ = state.weight;
  at_ = state.at;
  reduced_ = state.reduced;
  cost_ = state.cost;
  factored_ = factorization_ == state.factorization && factor_.replaced() >= state.replaced;
  if (factored_) factor_.undo_to(state.replaced);
  has_values_ = false;
}

void DualSimplex::find_reduced_costs() {
  std::vector<double> w(rows_);
  for (int32_t r = 0; r < rows_; ++r) w[r] = cost_[head_[r]];
  factor_.solve_transposed(w);
  for (int32_t j = 0; j < variables_ + rows_; ++j) {
    reduced_[j] = 0;
    if (place_[j] == Place::basic) continue;
    reduced_[j] = cost_[j];
    for (const SparseEntry& entry : column(j)) reduced_[j] -= w[entry.row] * entry.value;
  }
  work_ += static_cast<int64_t>(columns_.size());
}

void DualSimplex::find_values() {
  std::vector<double> x(rhs_);
  for (int32_t j = 0; j < variables_ + rows_; ++j) {
    if (place_[j] == Place::basic) continue;
    stand(j);
    if (at_[j] == 0) continue;
    for (const SparseEntry& entry : column(j)) x[entry.row] -= at_[j] * entry.value;
  }
  factor_.solve(x);
  for (int32_t r = 0; r < rows_; ++r) at_[head_[r]] = x[r];
  has_values_ = true;
  work_ += static_cast<int64_t>(columns_.size());
}

double DualSimplex::cost() const {
  double sum = 0;
  for (int32_t j = 0; j < variables_ + rows_; ++j) sum += cost_[j] * at_[j];
  return sum;
}

std::vector<double> DualSimplex::multipliers() {
  prepare();
  std::vector<double> w(rows_);
  for (int32_t r = 0; r < rows_; ++r) w[r] = cost_[head_[r]];
  factor_.solve_transposed(w);
  return with_signs(std::move(w));
}

// The rows are held with the other sign.
std::vector<double> DualSimplex::with_signs(std::vector<double> w) const {
  size_t count = 0;
  for (int32_t r = 0; r < rows_; ++r) {
    const bool counts = count < count_rows_.size() && count_rows_[count] == r;
    if (counts) ++count;
    w[r] = counts ? -w[r] : std::max(0.0, -w[r]);
  }
  return w;
}

// rho_ has the sign that makes it dual feasible.
std::vector<double> DualSimplex::ray() const { return with_signs(rho_); }

}  // namespace tidemark::memory::recompute
