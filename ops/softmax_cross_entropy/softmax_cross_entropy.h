// Cross entropy over classes, for classifiers. (Language models use linear_cross_entropy, which never holds the
// logits.)
#pragma once

#include "ops/op_definition.h"

namespace tidemark::ops {

// softmax_cross_entropy(logits [..,K], labels i32 [..], loss_weight f32[1], loss_before? f32[1])
//   -> loss f32[1] = loss_before + loss_weight * sum over labels >= 0 of -log softmax(logits)[label],
//      correct f32[1] (suffix "correct"), how many of those labels have the largest logit (the first, if several have
//      it).
// A label of -1 leaves its row out. loss_weight is 1 / valid samples of the whole global batch, read when the op runs.
// Logits f32. Differentiable only as the loss itself.
OpDefinition softmax_cross_entropy_op();

// softmax_cross_entropy_grad(logits, labels, loss_weight) -> loss_weight * (softmax - one-hot), 0 in rows left out; may
// share logits.
OpDefinition softmax_cross_entropy_grad_op();

}  // namespace tidemark::ops
