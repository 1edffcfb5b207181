// The loops of the reductions, once per CPU level.
#pragma once

#include <cstdint>

namespace tidemark {

// sum_rows: sum[c] = x[0][c] + x[1][c] + ..., rows contiguous; four rows are added up before they join the sum.
// sum_of_squares: in double, over 32 interleaved sums, so that every CPU level gives the same bits.
#define TM_DECLARE_REDUCE(isa)                                              \
  namespace isa {                                                           \
  void sum_rows(const float* x, int64_t rows, int64_t columns, float* sum); \
  double sum_of_squares(const float* x, int64_t count);                     \
  }
TM_DECLARE_REDUCE(isa_v2)
TM_DECLARE_REDUCE(isa_v3)
TM_DECLARE_REDUCE(isa_v4)
#undef TM_DECLARE_REDUCE

}  // namespace tidemark
