// Layer normalisation over the last dimension (Ba et al. 2016).
#pragma once

#include "ops/op_definition.h"

namespace tidemark::ops {

// layer_norm(x [..,C], gamma [C], beta [C]) {eps} -> y, mean f32[rows] (suffix mean), rstd f32[rows] (suffix rstd),
// with rows = elements of x / C, the biased variance, rstd = 1 / sqrt(variance + eps). f32. No gradient flows through
// mean and rstd.
OpDefinition layer_norm_op();

// layer_norm_grad(dy, x, gamma, mean, rstd, acc_dx?, acc_dgamma?, acc_dbeta?) -> dx (acc_dx plus the gradient in its
// bytes, else it may take the bytes of dy), dgamma, dbeta (likewise onto their sums). The sums over rows are taken in
// an order that depends on the numbers of rows and threads alone.
OpDefinition layer_norm_grad_op();

}  // namespace tidemark::ops
