#include "memory/recompute/bound/linear_program.h"

#include <algorithm>

namespace tidemark::memory::recompute {

Box whole_box(const LinearProgram& program) {
  Box box;
  box.variables.assign(program.variables(), Fixing::free);
  for (int32_t row : program.count_rows())
    box.counts.push_back({0, program.row_starts()[row + 1] - program.row_starts()[row]});
  return box;
}

double bound_of_multipliers(const LinearProgram& program, const Box& box, const std::vector<double>& w,
                            std::vector<double>& reduced_costs) {
  reduced_costs = program.costs();
  double bound = 0;
  size_t count = 0;
  for (int32_t r = 0; r < program.rows(); ++r) {
    const bool counts = count < box.counts.size() && program.count_rows()[count] == r;
    const Box::Range range = counts ? box.counts[count++] : Box::Range{};
    if (counts ? w[r] == 0 : w[r] <= 0) continue;
    bound += w[r] * (counts ? (w[r] > 0 ? range.low : range.high) : program.rhs()[r]);
    for (int32_t i = program.row_starts()[r]; i < program.row_starts()[r + 1]; ++i)
      reduced_costs[program.all_terms()[i].variable] -= program.all_terms()[i].factor * w[r];
  }
  for (int32_t j = 0; j < program.variables(); ++j)
    bound += box.variables[j] == Fixing::free  ? std::min(0.0, reduced_costs[j])
             : box.variables[j] == Fixing::one ? reduced_costs[j]
                                               : 0;
  return bound;
}

}  // namespace tidemark::memory::recompute
