#include "bazel/simd/sample_kernel.h"

#include <algorithm>
#include <cstddef>

namespace tidemark::TM_ISA_NAMESPACE {

float PositiveDot(const std::vector<float>& a, const float* b) {
  // Called through a pointer that the compiler may not see through, so that a weak std::max<float> is in every object.
  const float& (*volatile larger)(const float&, const float&) = &std::max<float>;
  float sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (size_t i = 0; i < a.size(); ++i) sum += larger(a[i], 0.0f) * b[i];
  return sum;
}

int SampleLevel() { return TM_ISA_LEVEL; }

}  // namespace tidemark::TM_ISA_NAMESPACE
