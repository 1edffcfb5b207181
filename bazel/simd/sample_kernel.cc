#include "bazel/simd/sample_kernel.h"

#include <algorithm>
#include <cstddef>

namespace tidemark::TM_ISA_NAMESPACE {

float SortedDot(std::vector<float> a, const float* b) {
  a.resize(a.size() + 1, 0.0f);
  std::sort(a.begin(), a.end());
  float sum = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(2)
  for (size_t i = 1; i < a.size(); ++i) sum += a[i] * b[i - 1];
  return sum;
}

int SampleLevel() { return TM_ISA_LEVEL; }

}  // namespace tidemark::TM_ISA_NAMESPACE
