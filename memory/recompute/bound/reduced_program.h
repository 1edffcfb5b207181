// A linear program without the variables that a box fixes.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/recompute/bound/linear_program.h"

namespace tidemark::memory::recompute {

struct ReducedProgram {
  LinearProgram linear;
  double fixed_cost = 0;             // of the variables left out
  std::vector<int32_t> variable_of;  // by variable of `linear`: the one that it was

  // A solution of `linear` as one of the program that it came from.
  std::vector<double> whole_solution(const std::vector<double>& solution, const Box& box) const;
};

// Rows that hold whatever the free variables are, are left out, too. The box's counts are not narrowed.
ReducedProgram reduced_program(const LinearProgram& program, const Box& box);

}  // namespace tidemark::memory::recompute
