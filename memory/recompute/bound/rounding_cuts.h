// Rows that whole numbers fulfil and a fractional solution does not.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/recompute/bound/linear_program.h"

namespace tidemark::memory::recompute {

struct Cut {
  std::vector<LinearProgram::Term> terms;
  double rhs = 0;    // terms . z >= rhs
  double depth = 0;  // how far the solution is on the wrong side, over the length of the row
};

// Mixed integer rounding (Marchand, Wolsey 2001) of the program's first `rows` rows that have unequal factors: the row,
// some variables complemented, is divided by one of its factors and rounded down. At most one cut per row, deepest
// first.
std::vector<Cut> rounding_cuts(const LinearProgram& program, int32_t rows, const std::vector<double>& solution);

}  // namespace tidemark::memory::recompute
