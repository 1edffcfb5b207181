// Layer normalisation of consecutive rows, once per CPU level.
#pragma once

#include <cstdint>

namespace tidemark {

namespace ops {

struct LayerNormGradRows {
  int64_t rows = 0;
  int64_t channels = 0;
  const float* dy = nullptr;  // [rows][channels], as x and dx
  const float* x = nullptr;
  const float* gamma = nullptr;  // [channels]
  const float* mean = nullptr;   // [rows], as rstd
  const float* rstd = nullptr;
  const float* acc_dx = nullptr;  // nullptr: dx is overwritten
  float* dx = nullptr;            // may be dy or acc_dx
};

}  // namespace ops

#define TM_DECLARE_LAYER_NORM(isa)                                                                              \
  namespace isa {                                                                                               \
  void layer_norm_rows(int64_t rows, int64_t channels, float eps, const float* x, const float* gamma,           \
                       const float* beta, float* y, float* mean, float* rstd);                                  \
  /* Writes dx, and the sums over these rows into dgamma and dbeta [channels]. Scratch: 2 * channels floats. */ \
  void layer_norm_grad_rows(const ops::LayerNormGradRows& rows, float* scratch, float* dgamma, float* dbeta);   \
  }
TM_DECLARE_LAYER_NORM(isa_v2)
TM_DECLARE_LAYER_NORM(isa_v3)
TM_DECLARE_LAYER_NORM(isa_v4)
#undef TM_DECLARE_LAYER_NORM

}  // namespace tidemark
