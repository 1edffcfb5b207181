// Multi-head self-attention that never stores the scores of a sequence against itself.
#pragma once

#include "ops/op_definition.h"

namespace tidemark::ops {

// attention(qkv [B,T,3C]) {heads, causal = true} -> out [B,T,C], lse f32 [B,heads,T] (suffix lse)
// qkv holds queries, keys and values side by side, each with its heads side by side; C is a multiple of heads. Scores
// are scaled by 1 / sqrt(C / heads). lse is the log of the sum of exp(scores) of each token, for the backward pass; no
// gradient flows through it. f32, any T and any head size.
OpDefinition attention_op();

// attention_grad(qkv, out, lse, dout [B,T,C]) {heads, causal = true} -> dqkv. Computes the scores again.
OpDefinition attention_grad_op();

}  // namespace tidemark::ops
