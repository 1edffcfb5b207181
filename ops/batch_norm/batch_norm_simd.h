// The loops of the CPU kernels over `rows` rows of `channels` floats, once per CPU level. Arrays of parameters and sums
// hold one float a channel.
#pragma once

#include <cstdint>

namespace tidemark {

// What normalizes a group: z = (x - mean) * (gamma * rstd) + beta.
struct BatchNormChannels {
  const float* mean;
  const float* rstd;
  const float* gamma;
  const float* beta;
};

// What the backward pass sums over a group, with xhat = (x - mean) * rstd.
struct BatchNormSums {
  const float* dz;
  const float* dz_xhat;
  float inverse_count;  // 1 / rows of the group
};

// batch_normalize: y = z + residual or, with relu, max(0, z + residual); no residual: nullptr. y may be x or residual.
// Gradients: with relu, dz is dy where z > 0, else 0, and z has the bits that batch_normalize gives without a residual.
// Without relu dz is dy, and beta is not read. dx may be dy.
#define TM_DECLARE_BATCH_NORM(isa)                                                                                  \
  namespace isa {                                                                                                   \
  void batch_moments(const float* x, int64_t rows, int64_t channels, float* mean, float* squared_deviations);       \
  void batch_normalize(const float* x, const float* residual, int64_t rows, int64_t channels,                       \
                       const BatchNormChannels& of, bool relu, float* y);                                           \
  void batch_gradient_sums(const float* dy, const float* x, int64_t rows, int64_t channels,                         \
                           const BatchNormChannels& of, bool relu, float* sum_dz, float* sum_dz_xhat);              \
  void batch_gradient(const float* dy, const float* x, int64_t rows, int64_t channels, const BatchNormChannels& of, \
                      bool relu, const BatchNormSums& sums, float* dx);                                             \
  }
TM_DECLARE_BATCH_NORM(isa_v2)
TM_DECLARE_BATCH_NORM(isa_v3)
TM_DECLARE_BATCH_NORM(isa_v4)
#undef TM_DECLARE_BATCH_NORM

}  // namespace tidemark
