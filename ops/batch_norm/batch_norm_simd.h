// The loops of the CPU kernels over `rows` rows of `channels` floats, once per CPU level. Arrays of parameters and sums
// hold one float a channel.
#pragma once

#include <cstdint>

namespace tidemark {

// What the backward pass of one group needs of each channel.
struct BatchNormGradient {
  const float* mean;
  const float* rstd;
  const float* gamma;
  const float* sum_dz;       // over the group
  const float* sum_dz_xhat;  // over the group; xhat = (x - mean) rstd
  float inverse_count;       // 1 / rows of the group
};

// y_or_null: the output of the fused ReLU; dz is then dy where y > 0, else 0. Without it dz is dy. dx may be dy.
#define TM_DECLARE_BATCH_NORM(isa)                                                                                  \
  namespace isa {                                                                                                   \
  void batch_moments(const float* x, int64_t rows, int64_t channels, float* mean, float* squared_deviations);       \
  void batch_normalize(const float* x, int64_t rows, int64_t channels, const float* mean, const float* rstd,        \
                       const float* gamma, const float* beta, bool relu, float* y);                                 \
  void batch_gradient_sums(const float* dy, const float* x, const float* y_or_null, int64_t rows, int64_t channels, \
                           const float* mean, const float* rstd, float* sum_dz, float* sum_dz_xhat);                \
  void batch_gradient(const float* dy, const float* x, const float* y_or_null, int64_t rows, int64_t channels,      \
                      const BatchNormGradient& of, float* dx);                                                      \
  }
TM_DECLARE_BATCH_NORM(isa_v2)
TM_DECLARE_BATCH_NORM(isa_v3)
TM_DECLARE_BATCH_NORM(isa_v4)
#undef TM_DECLARE_BATCH_NORM

}  // namespace tidemark
