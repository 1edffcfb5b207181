#include "memory/recompute/bound/basis_factor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "memory/recompute/search/random.h"

namespace tidemark::memory::recompute {
namespace {

using Vector = std::vector<double>;

// Columns with a few entries each, some of them units, and a strong one somewhere so that most are independent.
std::vector<std::vector<SparseEntry>> random_columns(Random& random, int32_t rows) {
  std::vector<std::vector<SparseEntry>> columns(rows);
  for (int32_t c = 0; c < rows; ++c) {
    const bool unit = random.below(3) == 0;
    columns[c].push_back({c, unit ? 1.0 : 2.0 + static_cast<double>(random.below(5))});
    for (int i = 0; !unit && i < 3; ++i) {
      const auto row = static_cast<int32_t>(random.below(rows));
      const auto same = [&](const SparseEntry& entry) { return entry.row == row; };
      if (std::none_of(columns[c].begin(), columns[c].end(), same))
        columns[c].push_back({row, static_cast<double>(random.below(7)) - 3.5});
    }
  }
  for (int32_t c = rows - 1; c > 0; --c) std::swap(columns[c], columns[random.below(c + 1)]);
  return columns;
}

std::vector<BasisFactor::Column> views(const std::vector<std::vector<SparseEntry>>& columns) {
  return {columns.begin(), columns.end()};
}

// The matrix whose column of row r stands at r.
struct Ordered {
  std::vector<std::vector<SparseEntry>> columns;

  Vector times(const Vector& x) const {
    Vector y(x.size(), 0);
    for (size_t c = 0; c < columns.size(); ++c)
      for (const SparseEntry& entry : columns[c]) y[entry.row] += entry.value * x[c];
    return y;
  }
  Vector transposed_times(const Vector& x) const {
    Vector y(x.size(), 0);
    for (size_t c = 0; c < columns.size(); ++c)
      for (const SparseEntry& entry : columns[c]) y[c] += entry.value * x[entry.row];
    return y;
  }
};

Ordered ordered(const std::vector<std::vector<SparseEntry>>& columns, const std::vector<int32_t>& row_of) {
  Ordered matrix;
  for (int32_t r = 0; r < static_cast<int32_t>(columns.size()); ++r) matrix.columns.push_back({{r, 1}});
  for (size_t c = 0; c < columns.size(); ++c)
    if (row_of[c] >= 0) matrix.columns[row_of[c]] = columns[c];
  return matrix;
}

Vector random_vector(Random& random, size_t size) {
  Vector x(size);
  for (double& value : x) value = random.below(2) == 0 ? 0 : static_cast<double>(random.below(19)) - 9;
  return x;
}

void expect_near(const Vector& a, const Vector& b) {
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-6 * (1 + std::abs(b[i]))) << "entry " << i;
}

void expect_inverse(BasisFactor& factor, const Ordered& matrix, Random& random) {
  const Vector x = random_vector(random, matrix.columns.size());
  Vector y = matrix.times(x);
  factor.solve(y);
  expect_near(y, x);
  y = matrix.transposed_times(x);
  factor.solve_transposed(y);
  expect_near(y, x);
}

void replace_some(BasisFactor& factor, Ordered& matrix, Random& random) {
  const auto rows = static_cast<int32_t>(matrix.columns.size());
  for (int i = 0; i < 10; ++i) {
    const auto row = static_cast<int32_t>(random.below(rows));
    const std::vector<SparseEntry> column = {{row, 3.0 + i}, {(row + 7) % rows, 1.5}};
    Vector solved(rows, 0);
    for (const SparseEntry& entry : column) solved[entry.row] = entry.value;
    factor.solve(solved);
    if (std::abs(solved[row]) < 0.1) continue;
    factor.replace(row, solved);
    matrix.columns[row] = column;
  }
}

TEST(BasisFactor, SolvesBothWays) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const auto columns = random_columns(random, 5 + static_cast<int32_t>(random.below(60)));
    BasisFactor factor;
    const auto row_of = factor.factor(static_cast<int32_t>(columns.size()), views(columns));
    expect_inverse(factor, ordered(columns, row_of), random);
  }
}

TEST(BasisFactor, ReplacedColumnsAreTakenBack) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const auto columns = random_columns(random, 30);
    BasisFactor factor;
    const Ordered before = ordered(columns, factor.factor(30, views(columns)));
    for (int round = 0; round < 2; ++round) {
      Ordered matrix = before;
      replace_some(factor, matrix, random);
      EXPECT_GT(factor.replaced(), 0);
      expect_inverse(factor, matrix, random);
      factor.undo_to(0);
      expect_inverse(factor, before, random);
    }
  }
}

TEST(BasisFactor, DependentColumnsGiveWayToUnits) {
  const std::vector<std::vector<SparseEntry>> columns = {{{0, 1}, {1, 2}}, {{0, 2}, {1, 4}}, {{2, 5}}};
  BasisFactor factor;
  const auto row_of = factor.factor(3, views(columns));
  EXPECT_EQ(std::count(row_of.begin(), row_of.end(), -1), 1);
  Random random(1);
  expect_inverse(factor, ordered(columns, row_of), random);
}

}  // namespace
}  // namespace tidemark::memory::recompute
