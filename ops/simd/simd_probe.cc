#include "ops/simd/simd_probe.h"

#include "ops/simd/exp.h"
#include "ops/simd/tile_product.h"

namespace tidemark::TM_ISA_NAMESPACE {

void exp_range(const float* x, float* y, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(y + i, exp(load(x + i)));
  store_first(y + i, exp(load_first(x + i, count - i, 0.0f)), count - i);
}

float sum_range(const float* x, int64_t count) {
  VecF sum = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) sum += load(x + i);
  return sum_of_lanes(sum + load_first(x + i, count - i, 0.0f));
}

float maximum_range(const float* x, int64_t count) {
  VecF most = load_first(x, 1, x[0]);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) most = maximum(most, load(x + i));
  return maximum_of_lanes(maximum(most, load_first(x + i, count - i, x[0])));
}

void product(int64_t rows, int64_t columns, int64_t depth, const float* a, bool a_transposed, const float* b,
             int64_t b_row, float* c, int64_t c_row, bool accumulate) {
  const LeftOperand left = a_transposed ? LeftOperand{a, 1, rows} : LeftOperand{a, depth, 1};
  matrix_product(rows, columns, depth, left, {b, b_row}, {c, c_row, accumulate});
}

}  // namespace tidemark::TM_ISA_NAMESPACE
