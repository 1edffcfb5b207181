// Pointwise arithmetic of the activations, for every device: F is float or a vector of floats.
//
// GELU in the tanh form (Hendrycks and Gimpel 2016, section 2; the one of GPT-2), written with the logistic function:
// 0.5 x (1 + tanh u) = x / (1 + exp(-2u)), u = sqrt(2/pi) (x + 0.044715 x^3). The caller supplies the exponential,
// since each device has its own: gelu(x) = gelu_from_exp(x, exp(gelu_exponent(x))).
#pragma once

#include "base/host_device.h"

namespace tidemark::ops {

inline constexpr float kGeluTwiceScale = 1.5957691216057308f;  // 2 sqrt(2/pi)
inline constexpr float kGeluCubic = 0.044715f;

// Declared cost of one element, an exponential counted as 1.
inline constexpr double kGeluFlops = 8;
inline constexpr double kGeluGradFlops = 15;

// -2u. The exponential of it may overflow to infinity: gelu is then 0 and so is its gradient.
template <class F>
TM_HOST_DEVICE inline F gelu_exponent(F x) {
  return -kGeluTwiceScale * x * (1.0f + kGeluCubic * (x * x));
}

template <class F>
TM_HOST_DEVICE inline F gelu_from_exp(F x, F exp_of_exponent) {
  return x / (1.0f + exp_of_exponent);
}

// Derivative at x.
template <class F>
TM_HOST_DEVICE inline F gelu_derivative_from_exp(F x, F exp_of_exponent) {
  const F logistic = 1.0f / (1.0f + exp_of_exponent);
  const F slope = kGeluTwiceScale * (1.0f + (3.0f * kGeluCubic) * (x * x));
  return logistic + x * (logistic * (1.0f - logistic)) * slope;
}

// NaN stays NaN, so that a diverging run shows.
TM_HOST_DEVICE inline float relu_math(float x) { return x < 0.0f ? 0.0f : x; }

// From the output of the ReLU.
TM_HOST_DEVICE inline float relu_grad_math(float y, float dy) { return y > 0.0f ? dy : 0.0f; }

}  // namespace tidemark::ops
