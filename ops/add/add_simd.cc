#include "ops/add/add_simd.h"

#include "ops/add/add_math.h"

namespace tidemark::TM_ISA_NAMESPACE {

// out may be a or b, so no pointer is restrict; the pragma says that iterations are independent all the same.
void add_range(const float* a, const float* b, float* out, int64_t count) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) out[i] = ops::add_math(a[i], b[i]);
}

}  // namespace tidemark::TM_ISA_NAMESPACE
