// A linear program over a box.
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

  int32_t add_variable(double cost) {
    costs_.push_back(cost);
    return variables() - 1;
  }
  // No variable twice.
  void add_row(const std::vector<Term>& terms, double rhs) {
    terms_.insert(terms_.end(), terms.begin(), terms.end());
    row_starts_.push_back(static_cast<int32_t>(terms_.size()));
    rhs_.push_back(rhs);
  }

  // A row that counts how many of some variables are 1: it says nothing until a box narrows it.
  void add_count_row(const std::vector<int32_t>& counted) {
    std::vector<Term> terms;
    for (int32_t variable : counted) terms.push_back({variable, 1});
    count_rows_.push_back(rows());
    add_row(terms, 0);
  }

  int32_t variables() const { return static_cast<int32_t>(costs_.size()); }
  int32_t rows() const { return static_cast<int32_t>(rhs_.size()); }
  int64_t terms() const { return static_cast<int64_t>(terms_.size()); }

  const std::vector<double>& costs() const { return costs_; }
  const std::vector<double>& rhs() const { return rhs_; }
  const std::vector<int32_t>& row_starts() const { return row_starts_; }
  const std::vector<Term>& all_terms() const { return terms_; }
  const std::vector<int32_t>& count_rows() const { return count_rows_; }  // ascending

 private:
  std::vector<double> costs_;
  std::vector<double> rhs_;
  std::vector<int32_t> row_starts_{0};
  std::vector<Term> terms_;
  std::vector<int32_t> count_rows_;
};

// A variable is free, or 0, or 1.
enum class Fixing : uint8_t { free, zero, one };

// A part of the program's box, further cut down by its count rows.
struct Box {
  struct Range {
    int32_t low = 0;
    int32_t high = 0;
  };
  std::vector<Fixing> variables;
  std::vector<Range> counts;
};

Box whole_box(const LinearProgram& program);

// For any multipliers w, one per row, >= 0 but for count rows, the minimum over the box of
// cost . z + w . (rhs - rows . z) is a lower bound on the program, whatever produced them. reduced_costs becomes
// cost - rows^T w.
double bound_of_multipliers(const LinearProgram& program, const Box& box, const std::vector<double>& w,
                            std::vector<double>& reduced_costs);

}  // namespace tidemark::memory::recompute
