// The strips, the softmax and the order of all sums are those of attention_head.cc, so that a token gets the same bits
// whether its predecessors come from the cache or are computed with it.
#include "ops/cached_attention/cached_head.h"

#include "ops/cached_attention/kv_cache_layout.h"
#include "ops/simd/softmax_row.h"
#include "ops/simd/tile_product.h"

namespace tidemark::TM_ISA_NAMESPACE {
namespace {

using ops::CachedHead;
using ops::HeadBlocks;
using ops::kKvBlockTokens;

static_assert(kTileRows <= ops::kCachedStripRows && kKvBlockTokens % kLanes == 0);

int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

const float* keys_of(const HeadBlocks& blocks, int64_t block) { return blocks.first + block * blocks.stride; }

const float* values_of(const HeadBlocks& blocks, int64_t block, int64_t head_dim) {
  return keys_of(blocks, block) + kKvBlockTokens * head_dim;
}

void append(const CachedHead& head, HeadBlocks blocks) {
  const int64_t value_row = ops::kv_value_row_floats(head.head_dim);
  for (int64_t i = 0; i < head.tokens; ++i) {
    const int64_t token = head.length + i, lane = token % kKvBlockTokens;
    float* keys = blocks.first + token / kKvBlockTokens * blocks.stride;
    float* value = keys + kKvBlockTokens * head.head_dim + lane * value_row;
    for (int64_t c = 0; c < head.head_dim; ++c) keys[c * kKvBlockTokens + lane] = head.k[i * head.qkv_row + c];
    std::memcpy(value, head.v + i * head.qkv_row, static_cast<size_t>(head.head_dim) * sizeof(float));
  }
}

// Queries first .. first + rows - 1; `end` keys are seen by the last of them.
void attend_strip(const CachedHead& head, HeadBlocks blocks, int64_t first, int64_t rows, float* scores, float* out) {
  const int64_t end = head.length + first + rows, used = (end + kKvBlockTokens - 1) / kKvBlockTokens;
  const int64_t row = used * kKvBlockTokens, value_row = ops::kv_value_row_floats(head.head_dim);
  const float* queries = head.q + first * head.qkv_row;
  for (int64_t b = 0; b < used; ++b) {
    strip_product(rows, kKvBlockTokens, head.head_dim, {queries, head.qkv_row, 1}, {keys_of(blocks, b), kKvBlockTokens},
                  {scores + b * kKvBlockTokens, row, false});
  }
  float inverse_sums[kTileRows];
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t seen = head.length + first + i + 1;
    inverse_sums[i] = 1.0f / exponentials(scores + i * row, seen, round_up_to_lanes(end), head.scale).sum;
  }
  for (int64_t b = 0; b < used; ++b) {
    const int64_t keys = least(kKvBlockTokens, end - b * kKvBlockTokens);
    strip_product(rows, head.head_dim, keys, {scores + b * kKvBlockTokens, row, 1},
                  {values_of(blocks, b, head.head_dim), value_row}, {out, head.out_row, b > 0});
  }
  for (int64_t i = 0; i < rows; ++i) scale_row(out + i * head.out_row, head.head_dim, inverse_sums[i]);
}

void attend(const CachedHead& head, HeadBlocks blocks, float* scratch, float* out) {
  for (int64_t first = 0; first < head.tokens; first += kTileRows) {
    const int64_t rows = least(kTileRows, head.tokens - first);
    attend_strip(head, blocks, first, rows, scratch, out + first * head.out_row);
  }
}

}  // namespace

const ops::CachedAttentionKernels kCachedAttentionKernels = {append, attend};

}  // namespace tidemark::TM_ISA_NAMESPACE
