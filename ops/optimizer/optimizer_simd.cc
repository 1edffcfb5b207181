#include "ops/optimizer/optimizer_simd.h"

#include <cmath>

namespace tidemark::TM_ISA_NAMESPACE {

void sgd_range(const ops::SgdStep& shared, float* __restrict param, const float* __restrict grad, int64_t count) {
  const ops::SgdStep step = shared;  // a copy that no store can change
  for (int64_t i = 0; i < count; ++i) ops::sgd_math(step, param[i], grad[i]);
}

void sgd_momentum_range(const ops::SgdStep& shared, float* __restrict param, const float* __restrict grad,
                        float* __restrict buffer, int64_t count) {
  const ops::SgdStep step = shared;
  for (int64_t i = 0; i < count; ++i) ops::sgd_momentum_math(step, param[i], grad[i], buffer[i]);
}

void adamw_range(const ops::AdamwStep& shared, float* __restrict param, const float* __restrict grad,
                 float* __restrict m, float* __restrict v, int64_t count) {
  const ops::AdamwStep step = shared;
  const auto root = [](float x) { return std::sqrt(x); };
  for (int64_t i = 0; i < count; ++i) ops::adamw_math(step, param[i], grad[i], m[i], v[i], root);
}

}  // namespace tidemark::TM_ISA_NAMESPACE
