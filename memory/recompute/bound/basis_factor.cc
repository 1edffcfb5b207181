#include "memory/recompute/bound/basis_factor.h"

#include <algorithm>
#include <cmath>

namespace tidemark::memory::recompute {
namespace {

constexpr double kSmallestPivot = 1e-9;
constexpr double kPivotShare = 0.1;  // of the largest entry of its column
constexpr double kNothing = 1e-14;

}  // namespace

void BasisFactor::Factors::clear() {
  pivots.clear();
  diagonal.clear();
  starts.assign(1, 0);
  entries.clear();
}

void BasisFactor::Factors::end_column(int32_t pivot, double diagonal_value) {
  pivots.push_back(pivot);
  diagonal.push_back(diagonal_value);
  starts.push_back(static_cast<int32_t>(entries.size()));
}

std::vector<int32_t> BasisFactor::factor(int32_t rows, const std::vector<Column>& columns) {
  lower_.clear();
  upper_.clear();
  updates_.clear();
  row_of_column_.assign(columns.size(), -1);
  row_done_.assign(rows, 0);
  dense_.assign(rows, 0);
  count(columns);
  eliminate_singletons(columns);
  first_filling_ = lower_.pivots.size();
  eliminate_rest(columns);
  work_ += static_cast<int64_t>(upper_.entries.size() + lower_.entries.size()) + 4 * rows;
  return row_of_column_;
}

void BasisFactor::count(const std::vector<Column>& columns) {
  const auto rows = row_done_.size();
  column_count_.assign(columns.size(), 0);
  row_count_.assign(rows, 0);
  row_starts_.assign(rows + 1, 0);
  for (size_t c = 0; c < columns.size(); ++c) {
    column_count_[c] = static_cast<int32_t>(columns[c].size());
    for (const SparseEntry& entry : columns[c]) ++row_count_[entry.row];
  }
  for (size_t r = 0; r < rows; ++r) row_starts_[r + 1] = row_starts_[r] + row_count_[r];
  row_columns_.resize(row_starts_[rows]);
  std::vector<int32_t> next(row_starts_.begin(), row_starts_.end() - 1);
  for (size_t c = 0; c < columns.size(); ++c)
    for (const SparseEntry& entry : columns[c]) row_columns_[next[entry.row]++] = static_cast<int32_t>(c);
}

int32_t BasisFactor::active_row(Column column) const {
  for (const SparseEntry& entry : column)
    if (row_done_[entry.row] == 0) return entry.row;
  return -1;
}

int32_t BasisFactor::active_column(int32_t row) const {
  for (int32_t i = row_starts_[row]; i < row_starts_[row + 1]; ++i)
    if (row_of_column_[row_columns_[i]] < 0) return row_columns_[i];
  return -1;
}

void BasisFactor::eliminate_singletons(const std::vector<Column>& columns) {
  single_columns_.clear();
  single_rows_.clear();
  for (size_t c = 0; c < columns.size(); ++c)
    if (column_count_[c] == 1) single_columns_.push_back(static_cast<int32_t>(c));
  for (size_t r = 0; r < row_done_.size(); ++r)
    if (row_count_[r] == 1) single_rows_.push_back(static_cast<int32_t>(r));
  while (!single_columns_.empty() || !single_rows_.empty()) {
    const bool by_column = !single_columns_.empty();
    std::vector<int32_t>& queue = by_column ? single_columns_ : single_rows_;
    const int32_t item = queue.back();
    queue.pop_back();
    if (by_column ? row_of_column_[item] >= 0 || column_count_[item] != 1
                  : row_done_[item] != 0 || row_count_[item] != 1)
      continue;
    const int32_t column = by_column ? item : active_column(item);
    const int32_t row = by_column ? active_row(columns[item]) : item;
    if (column >= 0 && row >= 0) take(columns, column, row);
  }
}

// The column's entries in rows that are done belong to U, the others to L; no other column changes.
void BasisFactor::take(const std::vector<Column>& columns, int32_t column, int32_t row) {
  double pivot = 0;
  double largest = 0;
  for (const SparseEntry& entry : columns[column]) {
    if (row_done_[entry.row] == 0) largest = std::max(largest, std::abs(entry.value));
    if (entry.row == row) pivot = entry.value;
  }
  if (std::abs(pivot) < std::max(kSmallestPivot, 1e-3 * largest)) return;
  for (const SparseEntry& entry : columns[column]) {
    if (row_done_[entry.row] != 0) {
      upper_.entries.push_back(entry);
    } else {
      if (entry.row != row) lower_.entries.push_back({entry.row, entry.value / pivot});
      if (--row_count_[entry.row] == 1) single_rows_.push_back(entry.row);
    }
  }
  if (columns[column].size() > 1 || pivot != 1) upper_.end_column(row, pivot);
  if (static_cast<int32_t>(lower_.entries.size()) > lower_.starts.back()) lower_.end_column(row, 1);
  row_of_column_[column] = row;
  row_done_[row] = 1;
  for (int32_t i = row_starts_[row]; i < row_starts_[row + 1]; ++i)
    if (--column_count_[row_columns_[i]] == 1) single_columns_.push_back(row_columns_[i]);
}

void BasisFactor::eliminate_rest(const std::vector<Column>& columns) {
  std::vector<int32_t> rest;
  for (size_t c = 0; c < columns.size(); ++c)
    if (row_of_column_[c] < 0) rest.push_back(static_cast<int32_t>(c));
  std::stable_sort(rest.begin(), rest.end(), [&](int32_t a, int32_t b) { return column_count_[a] < column_count_[b]; });
  for (int32_t c : rest) eliminate(columns[c], c);
}

void BasisFactor::eliminate(Column column, int32_t index) {
  touched_.clear();
  for (const SparseEntry& entry : column) {
    dense_[entry.row] = entry.value;
    touched_.push_back(entry.row);
  }
  for (size_t i = first_filling_; i < lower_.pivots.size(); ++i) {
    const double factor = dense_[lower_.pivots[i]];
    if (factor == 0) continue;
    for (const SparseEntry& entry : lower_.column(i)) {
      if (dense_[entry.row] == 0) touched_.push_back(entry.row);
      dense_[entry.row] -= factor * entry.value;
    }
    work_ += static_cast<int64_t>(lower_.column(i).size());
  }
  work_ += static_cast<int64_t>(lower_.pivots.size() - first_filling_);
  const int32_t row = choose_row();
  const double pivot = row < 0 ? 1 : dense_[row];
  for (int32_t r : touched_) {
    const double value = dense_[r];
    dense_[r] = 0;
    if (row < 0 || r == row || std::abs(value) < kNothing) continue;
    if (row_done_[r] != 0) {
      upper_.entries.push_back({r, value});
    } else {
      lower_.entries.push_back({r, value / pivot});
    }
  }
  if (row < 0) return;
  upper_.end_column(row, pivot);
  if (static_cast<int32_t>(lower_.entries.size()) > lower_.starts.back()) lower_.end_column(row, 1);
  row_done_[row] = 1;
  row_of_column_[index] = row;
}

// The emptiest of the rows whose entry is large enough.
int32_t BasisFactor::choose_row() const {
  double largest = 0;
  for (int32_t r : touched_)
    if (row_done_[r] == 0) largest = std::max(largest, std::abs(dense_[r]));
  if (largest < kSmallestPivot) return -1;
  int32_t chosen = -1;
  for (int32_t r : touched_) {
    if (row_done_[r] != 0 || std::abs(dense_[r]) < kPivotShare * largest) continue;
    if (chosen < 0 || row_count_[r] < row_count_[chosen]) chosen = r;
  }
  return chosen;
}

void BasisFactor::solve(std::vector<double>& x) {
  for (size_t i = 0; i < lower_.pivots.size(); ++i) {
    const double factor = x[lower_.pivots[i]];
    if (factor == 0) continue;
    for (const SparseEntry& entry : lower_.column(i)) x[entry.row] -= factor * entry.value;
    work_ += static_cast<int64_t>(lower_.column(i).size());
  }
  for (size_t i = upper_.pivots.size(); i > 0; --i) {
    double& value = x[upper_.pivots[i - 1]];
    if (value == 0) continue;
    if (std::abs(value) < kNothing) {
      value = 0;
      continue;
    }
    value /= upper_.diagonal[i - 1];
    for (const SparseEntry& entry : upper_.column(i - 1)) x[entry.row] -= value * entry.value;
    work_ += static_cast<int64_t>(upper_.column(i - 1).size());
  }
  for (size_t i = 0; i < updates_.pivots.size(); ++i) {
    double& value = x[updates_.pivots[i]];
    if (value == 0) continue;
    value /= updates_.diagonal[i];
    for (const SparseEntry& entry : updates_.column(i)) x[entry.row] -= value * entry.value;
    work_ += static_cast<int64_t>(updates_.column(i).size());
  }
  work_ += static_cast<int64_t>(lower_.pivots.size() + upper_.pivots.size() + updates_.pivots.size());
}

void BasisFactor::solve_transposed(std::vector<double>& x) {
  const auto subtract = [&](Column column, double value) {
    for (const SparseEntry& entry : column) value -= entry.value * x[entry.row];
    return value;
  };
  for (size_t i = updates_.pivots.size(); i > 0; --i) {
    const int32_t row = updates_.pivots[i - 1];
    x[row] = subtract(updates_.column(i - 1), x[row]) / updates_.diagonal[i - 1];
  }
  for (size_t i = 0; i < upper_.pivots.size(); ++i) {
    const int32_t row = upper_.pivots[i];
    x[row] = subtract(upper_.column(i), x[row]) / upper_.diagonal[i];
  }
  for (size_t i = lower_.pivots.size(); i > 0; --i) {
    const int32_t row = lower_.pivots[i - 1];
    x[row] = subtract(lower_.column(i - 1), x[row]);
  }
  work_ += static_cast<int64_t>(updates_.entries.size() + upper_.entries.size() + lower_.entries.size() +
                                upper_.pivots.size());
}

void BasisFactor::replace(int32_t row, const std::vector<double>& solved) {
  for (size_t r = 0; r < solved.size(); ++r)
    if (static_cast<int32_t>(r) != row && std::abs(solved[r]) > kNothing)
      updates_.entries.push_back({static_cast<int32_t>(r), solved[r]});
  updates_.end_column(row, solved[row]);
}

void BasisFactor::undo_to(int32_t replaced) {
  updates_.pivots.resize(replaced);
  updates_.diagonal.resize(replaced);
  updates_.starts.resize(replaced + 1);
  updates_.entries.resize(updates_.starts.back());
}

}  // namespace tidemark::memory::recompute
