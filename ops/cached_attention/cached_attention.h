// Self-attention of new tokens over those that came before, whose keys and values are kept.
#pragma once

#include "ops/cached_attention/kv_cache_layout.h"
#include "ops/op_definition.h"

namespace tidemark::ops {

// cached_attention(qkv [B,T,3C], cache, length i32[1]) {heads, layer} -> out [B,T,C], cache' (in place)
// The cache is of kv_cache_type, and `length` tokens of it are filled. The keys and values of the T new tokens are
// written behind them, at layer `layer`; new token i then sees the first length + i + 1 tokens. Either B is the number
// of lanes, or it is 1: the tokens are then common to all lanes and are written to each. The caller sees to it that
// length + T tokens fit. Given the same qkv, `out` has the bits of op `attention` over the whole text. f32; no
// gradient.
OpDefinition cached_attention_op();

}  // namespace tidemark::ops
