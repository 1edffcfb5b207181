// Branch and bound on a program whose variables are 0 or 1.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/recompute/bound/linear_program.h"

namespace tidemark::memory::recompute {

struct BranchAndBoundOptions {
  int64_t work_limit = 0;  // entries of vectors and rows looked at
  double enough = 0;       // solutions that cost as much are of no interest
  double gap = 0;          // share of the optimum that the bound may be below it where that ends the search
};

struct IntegerBound {
  double bound = 0;              // no solution in whole numbers costs less; never above `enough`
  bool solved = false;           // the bound is the optimum but for the gap, or there is nothing below `enough`
  std::vector<double> solution;  // the best in whole numbers, else of the linear program; empty: none was found
  bool is_whole = false;         // the solution is
  int64_t root_work = 0;         // until the linear program and its cuts were solved
  int64_t work = 0;
};

// Best first with dives; rounding cuts at the root, which begins anew without the variables that its costs fix;
// variables and counts are tried before they are branched on as long as nothing is known of them (reliability
// branching, Achterberg et al. 2005). Costs are >= 0. The bound holds whatever the work limit.
IntegerBound branch_and_bound(const LinearProgram& program, const BranchAndBoundOptions& options);

}  // namespace tidemark::memory::recompute
