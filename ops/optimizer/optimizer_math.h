// The arithmetic of the updates, for every device.
#pragma once

#include "base/host_device.h"

namespace tidemark::ops {

// What does not change between the elements of one update.
struct SgdStep {
  float lr, grad_scale, momentum, weight_decay;
  bool nesterov;
};

struct AdamwStep {
  float lr, grad_scale, beta1, beta2, eps, weight_decay;
  float one_minus_beta1, one_minus_beta2;  // from the doubles: in float, 1 - 0.999 is off by 1e-5 of itself
  float m_correction, v_correction;        // 1 / (1 - beta^t)
};

TM_HOST_DEVICE inline float sgd_direction(const SgdStep& step, float param, float grad) {
  return step.grad_scale * grad + step.weight_decay * param;
}

TM_HOST_DEVICE inline void sgd_math(const SgdStep& step, float& param, float grad) {
  param -= step.lr * sgd_direction(step, param, grad);
}

TM_HOST_DEVICE inline void sgd_momentum_math(const SgdStep& step, float& param, float grad, float& buffer) {
  const float direction = sgd_direction(step, param, grad);
  buffer = step.momentum * buffer + direction;
  param -= step.lr * (step.nesterov ? direction + step.momentum * buffer : buffer);
}

// `root` is the device's square root.
template <class Root>
TM_HOST_DEVICE inline void adamw_math(const AdamwStep& step, float& param, float grad, float& m, float& v, Root root) {
  const float g = step.grad_scale * grad;
  m = step.beta1 * m + step.one_minus_beta1 * g;
  v = step.beta2 * v + step.one_minus_beta2 * (g * g);
  const float rate = (step.lr * step.m_correction) * m / (root(v * step.v_correction) + step.eps);
  param = param * (1.0f - step.lr * step.weight_decay) - rate;
}

}  // namespace tidemark::ops
