// Batch normalization over fixed groups of samples, so that the statistics do not hang on the micro-batch.
//
//   batch_norm(x [B,..,C], gamma [C], beta [C], residual?) {group, eps, relu = false}
//       -> y, mean f32[G,C], rstd f32[G,C]
//     G = ceil(B / group): `group` consecutive samples share one mean and one rstd = 1 / sqrt(variance + eps) a channel
//     (biased variance); the last group may be smaller. y is z = (x - mean) * rstd * gamma + beta + residual or, with
//     relu, max(0, z): the bits of batch_norm, add and relu one after the other, in one pass. residual is of x's type.
//     y may share x or residual, here and in the ops that follow.
//   Its two halves, which recomputation takes apart to keep the small one (the same bits):
//   batch_norm_statistics(x) {group, eps} -> mean, rstd
//   batch_norm_apply(x, gamma, beta, mean, rstd, residual?) {group, relu = false} -> y
//   batch_norm_grad(dy, x, gamma, mean, rstd, beta?, acc_dgamma?, acc_dbeta?) {group, relu = false}
//       -> dx, dgamma, dbeta
//     With relu, which needs beta, the mask is computed again from x instead of read from y: forward's, bit for bit,
//     where forward had no residual. (With one, relu_grad comes first: it gives the residual's gradient anyway.)
//     dx may share dy.
//   batch_norm_update_statistics(mean [G,C], rstd, running_mean [C], running_var [C], counter i32[1])
//       {momentum, eps, count, last_count = count} -> running_mean', running_var', counter'
//     Once a group, in order: running += momentum * (of the group - running), with the unbiased variance (as PyTorch),
//     counter += 1. count: values a channel in a full group (samples x height x width); last_count: in the last one.
//     Must run exactly once for each batch_norm of a step.
//   batch_norm_inference(x, gamma, beta, running_mean, running_var, residual?) {eps, relu = false} -> y
//
// All sums run in an order that hangs on C and the size of a group alone: Note [Chunks of a group] in group_chunks.h.
// dgamma and dbeta are rounded after each group, so that groups one by one onto each other give the same bits.
#pragma once

#include "ops/op_definition.h"

namespace tidemark::ops {

OpDefinition batch_norm_op();
OpDefinition batch_norm_statistics_op();
OpDefinition batch_norm_apply_op();
OpDefinition batch_norm_grad_op();
OpDefinition batch_norm_inference_op();
OpDefinition batch_norm_update_statistics_op();

}  // namespace tidemark::ops
