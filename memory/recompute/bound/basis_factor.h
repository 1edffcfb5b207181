// The inverse of a basis of a linear program, in a form that sparse systems are solved with.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tidemark::memory::recompute {

struct SparseEntry {
  int32_t row = 0;
  double value = 0;
};

// Note [Basis factor]
// B = L U, columns eliminated one after the other: first those with one row left, and rows with one column left, which
// cause no fill; what remains by the number of its entries, with threshold pivoting. Every column is known by the row
// that it was eliminated at, so vectors need no permutation: entry r of a solution belongs to the column of row r.
// Unit columns are no factor at all. A replaced column is one more factor (the product form), until the next
// factorization.
class BasisFactor {
 public:
  using Column = std::span<const SparseEntry>;

  // For every column its row; -1 for a column that hangs on the others. Rows that are left get the column unit(row).
  std::vector<int32_t> factor(int32_t rows, const std::vector<Column>& columns);

  void solve(std::vector<double>& x);             // B y = x, in place
  void solve_transposed(std::vector<double>& x);  // B^T y = x, in place
  // Replaces the column of a row; `solved` is the new column after solve().
  void replace(int32_t row, const std::vector<double>& solved);

  // Back to so many replaced columns since the factorization.
  void undo_to(int32_t replaced);

  int32_t replaced() const { return static_cast<int32_t>(updates_.pivots.size()); }
  int64_t work() const { return work_; }  // entries looked at so far

 private:
  // Columns in a row, each with a pivot.
  struct Factors {
    std::vector<int32_t> pivots;  // rows
    std::vector<double> diagonal;
    std::vector<int32_t> starts{0};
    std::vector<SparseEntry> entries;

    void clear();
    void end_column(int32_t pivot, double diagonal_value);
    Column column(size_t i) const { return {entries.data() + starts[i], entries.data() + starts[i + 1]}; }
  };

  void count(const std::vector<Column>& columns);
  void eliminate_singletons(const std::vector<Column>& columns);
  int32_t active_row(Column column) const;
  int32_t active_column(int32_t row) const;
  void take(const std::vector<Column>& columns, int32_t column, int32_t row);
  void eliminate_rest(const std::vector<Column>& columns);
  void eliminate(Column column, int32_t index);
  int32_t choose_row() const;

  Factors lower_, upper_, updates_;
  int64_t work_ = 0;

  // While factoring.
  std::vector<int32_t> row_of_column_;
  std::vector<uint8_t> row_done_;
  std::vector<int32_t> column_count_, row_count_;
  std::vector<int32_t> row_starts_, row_columns_;
  std::vector<int32_t> single_columns_, single_rows_;
  std::vector<double> dense_;
  std::vector<int32_t> touched_;
  size_t first_filling_ = 0;  // factor of lower_ that later columns can meet
};

}  // namespace tidemark::memory::recompute
