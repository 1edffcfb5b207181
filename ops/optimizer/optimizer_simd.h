// The loops of the CPU kernels, once per CPU level.
#pragma once

#include <cstdint>

#include "ops/optimizer/optimizer_math.h"

namespace tidemark {

// Updates `count` elements in place; the arrays do not overlap.
#define TM_DECLARE_OPTIMIZER(isa)                                                                                   \
  namespace isa {                                                                                                   \
  void sgd_range(const ops::SgdStep& step, float* param, const float* grad, int64_t count);                         \
  void sgd_momentum_range(const ops::SgdStep& step, float* param, const float* grad, float* buffer, int64_t count); \
  void adamw_range(const ops::AdamwStep& step, float* param, const float* grad, float* m, float* v, int64_t count); \
  }
TM_DECLARE_OPTIMIZER(isa_v2)
TM_DECLARE_OPTIMIZER(isa_v3)
TM_DECLARE_OPTIMIZER(isa_v4)
#undef TM_DECLARE_OPTIMIZER

}  // namespace tidemark
