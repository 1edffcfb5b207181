// How the keys and values of a model's attention lie in its cache. Note [Cache layout]
//
// A cache is f32[blocks, layers, lanes, heads, floats of a head]: a block holds 16 tokens of every layer and every lane
// (a lane is one text). Blocks come outermost, so that a longer text needs bytes at the end and nowhere else: the whole
// context has its addresses from the start, and pages are put behind them as the text grows. Nothing is ever copied and
// no shape changes. 16 tokens are few enough that the last block wastes little, and as many as the widest vector has
// lanes: within a head the keys are transposed, [head_dim][16], so that the scores of 16 tokens are made at once
// without sums across lanes. Values follow, [16][head_dim rounded up to 16].
#pragma once

#include <cstdint>

#include "graph/types.h"

namespace tidemark::ops {

inline constexpr int64_t kKvBlockTokens = 16;

struct KvCacheShape {
  int64_t layers = 0;
  int64_t lanes = 0;
  int64_t heads = 0;
  int64_t head_dim = 0;
};

inline int64_t kv_value_row_floats(int64_t head_dim) { return (head_dim + 15) / 16 * 16; }

inline int64_t kv_head_floats(int64_t head_dim) { return kKvBlockTokens * (head_dim + kv_value_row_floats(head_dim)); }

inline int64_t kv_blocks(int64_t tokens) { return (tokens + kKvBlockTokens - 1) / kKvBlockTokens; }

// The type of a cache that has room for `tokens`.
inline ValueType kv_cache_type(const KvCacheShape& shape, int64_t tokens) {
  return {DType::f32, {kv_blocks(tokens), shape.layers, shape.lanes, shape.heads, kv_head_floats(shape.head_dim)}};
}

}  // namespace tidemark::ops
