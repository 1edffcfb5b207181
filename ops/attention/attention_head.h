// Attention of one head of one sequence, forward and backward, for every CPU level.
#pragma once

#include <cstdint>

namespace tidemark::ops {

struct AttentionHead {
  int64_t length = 0;    // tokens
  int64_t head_dim = 0;  // channels of the head
  bool causal = true;    // token i sees keys 0..i, else all
  float scale = 1;       // of the scores: 1 / sqrt(head_dim)
  int64_t qkv_row = 0;   // floats from a token to the next in q, k, v and their gradients
  int64_t out_row = 0;   // the same in out and its gradient
  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;
};

struct AttentionGradients {
  float* dq = nullptr;
  float* dk = nullptr;
  float* dv = nullptr;
};

struct AttentionKernels {
  // out [length][head_dim] = softmax(scale q k^T) v; lse [length] = log of the sum of exp(scores).
  // Scratch: attention_forward_floats().
  void (*forward)(const AttentionHead& head, float* scratch, float* out, float* lse);
  // Overwrites the gradients. Scratch: attention_backward_floats().
  void (*backward)(const AttentionHead& head, const float* out, const float* lse, const float* dout, float* scratch,
                   AttentionGradients gradients);
};

// Tokens of a block of queries or keys: 64 x 64 scores and the operands of a block lie in the first two cache levels.
inline constexpr int64_t kAttentionBlock = 64;
// Rows of copies are padded to this many floats, the widest vector.
inline constexpr int64_t kAttentionPadding = 16;

inline int64_t padded_head_dim(int64_t head_dim) {
  return (head_dim + kAttentionPadding - 1) / kAttentionPadding * kAttentionPadding;
}
inline int64_t padded_length(int64_t length) {
  return (length + kAttentionBlock - 1) / kAttentionBlock * kAttentionBlock;
}

// Keys transposed, values, one block of queries' scores.
inline int64_t attention_forward_floats(int64_t length, int64_t head_dim) {
  return padded_length(length) * (head_dim + padded_head_dim(head_dim) + kAttentionBlock);
}
// Keys and values transposed, keys; queries and output gradients of a block; probabilities, score gradients, row sums.
inline int64_t attention_backward_floats(int64_t length, int64_t head_dim) {
  return padded_length(length) * (2 * head_dim + padded_head_dim(head_dim)) +
         kAttentionBlock * (2 * padded_head_dim(head_dim) + 2 * kAttentionBlock + 1);
}

}  // namespace tidemark::ops

#define TM_DECLARE_ATTENTION(isa)                       \
  namespace tidemark::isa {                             \
  extern const ops::AttentionKernels kAttentionKernels; \
  }
TM_DECLARE_ATTENTION(isa_v2)
TM_DECLARE_ATTENTION(isa_v3)
TM_DECLARE_ATTENTION(isa_v4)
#undef TM_DECLARE_ATTENTION
