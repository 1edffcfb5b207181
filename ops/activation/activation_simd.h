// The loops of the CPU kernels, once per CPU level. Outputs may be one of the inputs.
#pragma once

#include <cstdint>

namespace tidemark {

#define TM_DECLARE_ACTIVATION(isa)                                                 \
  namespace isa {                                                                  \
  void relu_range(const float* x, float* y, int64_t count);                        \
  void relu_grad_range(const float* y, const float* dy, float* dz, int64_t count); \
  void gelu_range(const float* x, float* y, int64_t count);                        \
  void gelu_grad_range(const float* x, const float* dy, float* dz, int64_t count); \
  }
TM_DECLARE_ACTIVATION(isa_v2)
TM_DECLARE_ACTIVATION(isa_v3)
TM_DECLARE_ACTIVATION(isa_v4)
#undef TM_DECLARE_ACTIVATION

}  // namespace tidemark
