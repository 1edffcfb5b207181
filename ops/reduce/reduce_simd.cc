#include "ops/reduce/reduce_simd.h"

#include <cstring>

namespace tidemark::TM_ISA_NAMESPACE {

void sum_rows(const float* x, int64_t rows, int64_t columns, float* sum) {
  std::memset(sum, 0, static_cast<size_t>(columns) * sizeof(float));
  int64_t row = 0;
  for (; row + 4 <= rows; row += 4) {
    const float* x0 = x + row * columns;
    const float *x1 = x0 + columns, *x2 = x1 + columns, *x3 = x2 + columns;
#pragma GCC ivdep
    for (int64_t c = 0; c < columns; ++c) sum[c] += (x0[c] + x1[c]) + (x2[c] + x3[c]);
  }
  for (; row < rows; ++row) {
    const float* x0 = x + row * columns;
#pragma GCC ivdep
    for (int64_t c = 0; c < columns; ++c) sum[c] += x0[c];
  }
}

double sum_of_squares(const float* x, int64_t count) {
  constexpr int64_t kSums = 32;
  double sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (int64_t s = 0; s < kSums; ++s) sums[s] += double{x[i + s]} * x[i + s];
  }
  for (int64_t s = 0; i < count; ++i, ++s) sums[s] += double{x[i]} * x[i];
  for (int64_t width = kSums / 2; width >= 1; width /= 2) {
    for (int64_t s = 0; s < width; ++s) sums[s] += sums[s + width];
  }
  return sums[0];
}

}  // namespace tidemark::TM_ISA_NAMESPACE
