// Parameter updates, in place and without temporaries. Each runs once a step (may_run_twice() is false); none has a
// gradient.
#pragma once

#include "ops/op_definition.h"

namespace tidemark::ops {

// sgd_update(param, grad, momentum_buffer?, lr f32[1], grad_scale? f32[1]) {momentum, weight_decay, nesterov}
//   -> param', momentum_buffer' (suffix "momentum", where there is a buffer); all f32.
//   d = grad_scale * grad + weight_decay * param;  buffer' = momentum * buffer + d;
//   param' = param - lr * (nesterov ? d + momentum * buffer' : buffer'), without a buffer param - lr * d.
// Buffers begin as 0. momentum without a buffer is refused, and so is nesterov.
OpDefinition sgd_update_op();

// adamw_update(param, grad, m, v, hyper f32[4], grad_scale? f32[1]) {beta1, beta2, eps, weight_decay}
//   -> param', m' (suffix "m"), v' (suffix "v"); all f32.
// Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2019, algorithm 2, in the form of PyTorch (the decay
// is scaled by lr).
// hyper = {lr, 1 / (1 - beta1^t), 1 / (1 - beta2^t), unused} is read when the op runs.
OpDefinition adamw_update_op();

}  // namespace tidemark::ops
