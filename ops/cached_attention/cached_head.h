// Attention of one head of one lane over its cache, for every CPU level.
#pragma once

#include <cstdint>

namespace tidemark::ops {

struct CachedHead {
  int64_t length = 0;    // tokens in the cache before the new ones
  int64_t tokens = 0;    // new ones
  int64_t head_dim = 0;  // channels of the head
  float scale = 1;       // of the scores: 1 / sqrt(head_dim)
  int64_t qkv_row = 0;   // floats from a token to the next in q, k and v
  int64_t out_row = 0;   // the same in out
  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;
};

// The head's part of the cache's first block, and floats from block to block. See Note [Cache layout].
struct HeadBlocks {
  float* first = nullptr;
  int64_t stride = 0;
};

struct CachedAttentionKernels {
  // Writes keys and values of the new tokens behind the others.
  void (*append)(const CachedHead& head, HeadBlocks blocks);
  // out [tokens][head_dim], once the new tokens are in the cache. Scratch: cached_attention_floats(length + tokens).
  void (*attend)(const CachedHead& head, HeadBlocks blocks, float* scratch, float* out);
};

// Scores of as many queries as a register tile has rows, at most this many.
inline constexpr int64_t kCachedStripRows = 6;
inline int64_t cached_attention_floats(int64_t tokens) { return kCachedStripRows * ((tokens + 15) / 16 * 16); }

}  // namespace tidemark::ops

#define TM_DECLARE_CACHED_ATTENTION(isa)                            \
  namespace tidemark::isa {                                         \
  extern const ops::CachedAttentionKernels kCachedAttentionKernels; \
  }
TM_DECLARE_CACHED_ATTENTION(isa_v2)
TM_DECLARE_CACHED_ATTENTION(isa_v3)
TM_DECLARE_CACHED_ATTENTION(isa_v4)
#undef TM_DECLARE_CACHED_ATTENTION
