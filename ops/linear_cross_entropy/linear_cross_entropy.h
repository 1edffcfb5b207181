// A linear layer and the cross entropy of its softmax in one op, for large vocabularies: the logits of a chunk of
// samples stand in the workspace, never those of the whole batch.
#pragma once

#include "ops/op_definition.h"

namespace tidemark::ops {

// linear_cross_entropy(x [..,C], w [V,C], targets i32 [..], loss_weight f32[1], loss_before? f32[1])
//     {classes = V, chunk_rows?}
//   -> loss f32[1] = loss_before + loss_weight * sum over samples with target >= 0 of -log softmax(x w^T)[target].
// f32. Only the first `classes` rows of w count, the rest is padding; targets are < classes. Differentiable in x and w
// where the output is the loss itself: linear_cross_entropy_grad then computes loss and gradients in one pass and takes
// this node's place.
OpDefinition linear_cross_entropy_op();

// linear_cross_entropy_grad(x, w, targets, loss_weight, acc_dw? [V,C], loss_before?) {classes, chunk_rows} -> loss
// f32[1], dx (may take the bytes of x), dw [V,C] (acc_dw plus the gradient, in its bytes). Padded rows of dw are zero,
// or left as they are.
OpDefinition linear_cross_entropy_grad_op();

// Samples whose logits stand at once: a function of the shapes alone, unless the attribute chunk_rows says otherwise.
// Chosen so that the logits take about 26 MB at most, and in [16, 128].
int64_t default_chunk_rows(int64_t vocabulary);

}  // namespace tidemark::ops
