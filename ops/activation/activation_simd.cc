#include "ops/activation/activation_simd.h"

#include "ops/activation/activation_math.h"
#include "ops/simd/exp.h"

namespace tidemark::TM_ISA_NAMESPACE {
namespace {

VecF gelu(VecF x) { return ops::gelu_from_exp(x, exp(ops::gelu_exponent(x))); }

VecF gelu_grad(VecF x, VecF dy) { return dy * ops::gelu_derivative_from_exp(x, exp(ops::gelu_exponent(x))); }

}  // namespace

void relu_range(const float* x, float* y, int64_t count) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) y[i] = ops::relu_math(x[i]);
}

void relu_grad_range(const float* y, const float* dy, float* dz, int64_t count) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) dz[i] = ops::relu_grad_math(y[i], dy[i]);
}

void gelu_range(const float* x, float* y, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(y + i, gelu(load(x + i)));
  if (i < count) store_first(y + i, gelu(load_first(x + i, count - i, 0.0f)), count - i);
}

void gelu_grad_range(const float* x, const float* dy, float* dz, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(dz + i, gelu_grad(load(x + i), load(dy + i)));
  if (i == count) return;
  const int64_t rest = count - i;
  store_first(dz + i, gelu_grad(load_first(x + i, rest, 0.0f), load_first(dy + i, rest, 0.0f)), rest);
}

}  // namespace tidemark::TM_ISA_NAMESPACE
