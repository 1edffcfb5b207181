// What the tests call of the headers here, once per CPU level.
#pragma once

#include <cstdint>

namespace tidemark {

#define TM_DECLARE_SIMD_PROBE(isa)                                                                              \
  namespace isa {                                                                                               \
  /* Any count: the last vector is partial. */                                                                  \
  void exp_range(const float* x, float* y, int64_t count);                                                      \
  float sum_range(const float* x, int64_t count);                                                               \
  float maximum_range(const float* x, int64_t count);                                                           \
  /* c [rows][columns] of row length c_row; a transposed lies as [depth][rows]; b of row length b_row. */       \
  void product(int64_t rows, int64_t columns, int64_t depth, const float* a, bool a_transposed, const float* b, \
               int64_t b_row, float* c, int64_t c_row, bool accumulate);                                        \
  }
TM_DECLARE_SIMD_PROBE(isa_v2)
TM_DECLARE_SIMD_PROBE(isa_v3)
TM_DECLARE_SIMD_PROBE(isa_v4)
#undef TM_DECLARE_SIMD_PROBE

}  // namespace tidemark
