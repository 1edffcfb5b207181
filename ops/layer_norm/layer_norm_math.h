// The arithmetic of layer normalisation on one element, for every device: F is float or a vector of floats of one row.
#pragma once

#include "base/host_device.h"

namespace tidemark::ops {

template <class F>
TM_HOST_DEVICE inline F layer_norm_normalized(F x, float mean, float rstd) {
  return (x - mean) * rstd;
}

template <class F>
TM_HOST_DEVICE inline F layer_norm_output(F normalized, F gamma, F beta) {
  return normalized * gamma + beta;
}

// dx, from dy * gamma of the element and the row's means of dy * gamma and of dy * gamma * normalized.
template <class F>
TM_HOST_DEVICE inline F layer_norm_dx(F dy_gamma, F normalized, float mean_dy_gamma, float mean_dy_gamma_normalized,
                                      float rstd) {
  return (dy_gamma - mean_dy_gamma - normalized * mean_dy_gamma_normalized) * rstd;
}

}  // namespace tidemark::ops
