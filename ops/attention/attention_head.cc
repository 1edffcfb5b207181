// Note [Attention in blocks]
// Forward, for a block of 64 queries: scores against every block of keys up to the diagonal go into a strip of 64 rows,
// the softmax runs over the strip's rows, and the strip times the values is the output. Only log-sum-exp is kept for
// the backward pass, which takes block by block: scores again, probabilities = exp(score - lse), and with delta =
// sum(dout * out) of a query (FlashAttention, Dao et al. 2022, appendix B.4)
//   dv += p^T dout,   ds = p (dout v^T - delta) scale,   dq += ds k,   dk += ds^T q.
// Products take strips of kTileRows queries or keys that begin at the block's first token on both axes; in a block on
// the diagonal a strip computes no more columns, and sums over no more tokens, than its rows can see, and what lies
// above the diagonal within that range is set to zero.
#include "ops/attention/attention_head.h"

#include <cmath>

#include "ops/simd/softmax_row.h"
#include "ops/simd/tile_product.h"

namespace tidemark::TM_ISA_NAMESPACE {
namespace {

using ops::AttentionGradients;
using ops::AttentionHead;
using ops::kAttentionBlock;

constexpr int64_t kBlock = kAttentionBlock;

int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// Four rows of four floats, transposed in registers.
void transpose_4x4(const float* from, int64_t from_row, float* to, int64_t to_row) {
  typedef float Quad __attribute__((vector_size(16)));
  typedef int Lanes __attribute__((vector_size(16)));
  Quad a[4], b[4];
  for (int i = 0; i < 4; ++i) std::memcpy(&a[i], from + i * from_row, sizeof(Quad));
  const Lanes low = {0, 4, 1, 5}, high = {2, 6, 3, 7}, first = {0, 1, 4, 5}, second = {2, 3, 6, 7};
  b[0] = __builtin_shuffle(a[0], a[1], low), b[1] = __builtin_shuffle(a[0], a[1], high);
  b[2] = __builtin_shuffle(a[2], a[3], low), b[3] = __builtin_shuffle(a[2], a[3], high);
  a[0] = __builtin_shuffle(b[0], b[2], first), a[1] = __builtin_shuffle(b[0], b[2], second);
  a[2] = __builtin_shuffle(b[1], b[3], first), a[3] = __builtin_shuffle(b[1], b[3], second);
  for (int i = 0; i < 4; ++i) std::memcpy(to + i * to_row, &a[i], sizeof(Quad));
}

// Blocks of 64 tokens, each [head_dim][64]; tokens beyond the last are zero.
void transpose_blocks(const AttentionHead& head, const float* from, float* to) {
  const int64_t channels = head.head_dim;
  for (int64_t begin = 0; begin < head.length; begin += kBlock, to += channels * kBlock) {
    const int64_t tokens = least(kBlock, head.length - begin);
    const float* block = from + begin * head.qkv_row;
    const int64_t whole_tokens = tokens / 4 * 4, whole_channels = channels / 4 * 4;
    for (int64_t i = 0; i < whole_tokens; i += 4) {
      for (int64_t c = 0; c < whole_channels; c += 4) {
        transpose_4x4(block + i * head.qkv_row + c, head.qkv_row, to + c * kBlock + i, kBlock);
      }
    }
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = c < whole_channels ? whole_tokens : 0; i < kBlock; ++i) {
        to[c * kBlock + i] = i < tokens ? block[i * head.qkv_row + c] : 0.0f;
      }
    }
  }
}

// Rows one after the other, padded with zeros to whole vectors: as right operands they share no cache sets.
void copy_rows(const float* from, int64_t from_row, int64_t tokens, int64_t channels, float* to) {
  const int64_t padded = ops::padded_head_dim(channels);
  for (int64_t i = 0; i < tokens; ++i, from += from_row, to += padded) {
    std::memcpy(to, from, static_cast<size_t>(channels) * sizeof(float));
    for (int64_t c = channels; c < padded; ++c) to[c] = 0.0f;
  }
}

// Calls visit(first, rows) for the strips of a block.
template <class Visit>
inline void for_each_strip(int64_t tokens, Visit visit) {
  for (int64_t i = 0; i < tokens; i += kTileRows) visit(i, least(kTileRows, tokens - i));
}

// How a block of queries meets a block of keys.
struct BlockPair {
  int64_t query, queries;  // first and number
  int64_t key, keys;
  bool diagonal;

  BlockPair(const AttentionHead& head, int64_t first_query, int64_t first_key)
      : query(first_query),
        queries(least(kBlock, head.length - first_query)),
        key(first_key),
        keys(least(kBlock, head.length - first_key)),
        diagonal(head.causal && first_query == first_key) {}

  // Keys that any row of a strip of queries sees, and the first query that sees any row of a strip of keys.
  int64_t seen_keys(int64_t strip, int64_t rows) const { return diagonal ? strip + rows : keys; }
  int64_t first_query_of(int64_t strip) const { return diagonal ? strip : 0; }
};

int64_t end_of_keys(const AttentionHead& head, int64_t query) {
  return head.causal ? least(query + kBlock, head.length) : head.length;
}

// to[strip][0, seen keys, rounded up) = rows · transposed block.
void multiply_by_transposed(const AttentionHead& head, const BlockPair& pair, const float* rows, int64_t row,
                            const float* transposed, float* to, int64_t to_row) {
  for_each_strip(pair.queries, [&](int64_t i, int64_t count) {
    const int64_t columns = round_up_to_lanes(pair.seen_keys(i, count));
    strip_product(count, columns, head.head_dim, {rows + i * row, row, 1}, {transposed, kBlock},
                  {to + i * to_row, to_row, false});
  });
}

// One block of queries; scores: kBlock rows of padded_length floats.
void forward_block(const AttentionHead& head, int64_t query, const float* keys_t, const float* values, float* scores,
                   float* out, float* lse) {
  const int64_t row = ops::padded_length(head.length), channels = ops::padded_head_dim(head.head_dim);
  const int64_t end = end_of_keys(head, query), queries = least(kBlock, head.length - query);
  for (int64_t key = 0; key < end; key += kBlock) {
    multiply_by_transposed(head, BlockPair(head, query, key), head.q + query * head.qkv_row, head.qkv_row,
                           keys_t + key * head.head_dim, scores + key, row);
  }
  float inverse_sums[kBlock];
  for_each_strip(queries, [&](int64_t strip, int64_t rows) {
    for (int64_t i = strip; i < strip + rows; ++i) {
      const int64_t last = head.causal ? query + strip + rows : head.length;
      const int64_t seen = head.causal ? query + i + 1 : head.length;
      const RowSum row_sum = exponentials(scores + i * row, seen, round_up_to_lanes(last), head.scale);
      inverse_sums[i] = 1.0f / row_sum.sum;
      lse[query + i] = row_sum.maximum * head.scale + std::log(row_sum.sum);
    }
  });
  for (int64_t key = 0; key < end; key += kBlock) {
    const BlockPair pair(head, query, key);
    for_each_strip(queries, [&](int64_t i, int64_t rows) {
      strip_product(rows, head.head_dim, pair.seen_keys(i, rows), {scores + i * row + key, row, 1},
                    {values + key * channels, channels}, {out + (query + i) * head.out_row, head.out_row, key > 0});
    });
  }
  for (int64_t i = 0; i < queries; ++i) scale_row(out + (query + i) * head.out_row, head.head_dim, inverse_sums[i]);
}

void forward(const AttentionHead& head, float* scratch, float* out, float* lse) {
  float* keys_t = scratch;
  float* values = keys_t + ops::padded_length(head.length) * head.head_dim;
  float* scores = values + ops::padded_length(head.length) * ops::padded_head_dim(head.head_dim);
  transpose_blocks(head, head.k, keys_t);
  copy_rows(head.v, head.qkv_row, head.length, head.head_dim, values);
  for (int64_t query = 0; query < head.length; query += kBlock) {
    forward_block(head, query, keys_t, values, scores, out, lse);
  }
}

// The arrays of a backward pass. Of the head:
struct BackwardScratch {
  float *keys_t, *values_t, *keys;
  // Of a block of queries:
  float *queries, *dout, *delta;
  // Of a pair of blocks, [query][kBlock]:
  float *probabilities, *dscores;

  BackwardScratch(const AttentionHead& head, float* scratch) {
    const int64_t padded = ops::padded_head_dim(head.head_dim), length = ops::padded_length(head.length);
    const auto take = [&](int64_t count) { return (scratch += count) - count; };
    keys_t = take(length * head.head_dim);
    values_t = take(length * head.head_dim);
    keys = take(length * padded);
    queries = take(kBlock * padded);
    dout = take(kBlock * padded);
    probabilities = take(kBlock * kBlock);
    dscores = take(kBlock * kBlock);
    delta = take(kBlock);
  }
};

float dot(const float* a, const float* b, int64_t count) {
  VecF sum = {};
  int64_t c = 0;
  for (; c + kLanes <= count; c += kLanes) sum += load(a + c) * load(b + c);
  if (c < count) sum += load_first(a + c, count - c, 0.0f) * load_first(b + c, count - c, 0.0f);
  return sum_of_lanes(sum);
}

// scores -> probabilities, dprobabilities -> dscores, both in place; zero where a key of the range is not seen.
void probabilities_of_row(const AttentionHead& head, int64_t seen, int64_t end, float lse, float delta, float* scores,
                          float* dprobabilities) {
  for (int64_t j = 0; j < end; j += kLanes) {
    const VecF p = keep_first(exp(load(scores + j) * head.scale - lse), seen - j, 0.0f);
    const VecF ds = p * (load(dprobabilities + j) - delta) * head.scale;
    store(scores + j, p);
    store(dprobabilities + j, ds);
  }
}

void scores_of_pair(const AttentionHead& head, const BlockPair& pair, const float* lse, const BackwardScratch& s) {
  const int64_t padded = ops::padded_head_dim(head.head_dim), first = pair.key * head.head_dim;
  multiply_by_transposed(head, pair, s.queries, padded, s.keys_t + first, s.probabilities, kBlock);
  multiply_by_transposed(head, pair, s.dout, padded, s.values_t + first, s.dscores, kBlock);
  for_each_strip(pair.queries, [&](int64_t strip, int64_t rows) {
    const int64_t end = round_up_to_lanes(pair.seen_keys(strip, rows));
    for (int64_t i = strip; i < strip + rows; ++i) {
      const int64_t seen = pair.diagonal ? i + 1 : pair.keys;
      probabilities_of_row(head, seen, end, lse[pair.query + i], s.delta[i], s.probabilities + i * kBlock,
                           s.dscores + i * kBlock);
    }
  });
}

// to[key] (+)= sum over queries of weights[query][key] * rows[query].
void add_over_queries(const AttentionHead& head, const BlockPair& pair, const float* weights, const float* rows,
                      float* to) {
  const int64_t padded = ops::padded_head_dim(head.head_dim);
  const bool first_block = pair.query == (head.causal ? pair.key : 0);
  for_each_strip(pair.keys, [&](int64_t key, int64_t count) {
    const int64_t first = pair.first_query_of(key);
    strip_product(count, head.head_dim, pair.queries - first, {weights + first * kBlock + key, 1, kBlock},
                  {rows + first * padded, padded}, {to + (pair.key + key) * head.qkv_row, head.qkv_row, !first_block});
  });
}

void add_to_dq(const AttentionHead& head, const BlockPair& pair, const BackwardScratch& s, float* dq) {
  const int64_t padded = ops::padded_head_dim(head.head_dim);
  for_each_strip(pair.queries, [&](int64_t i, int64_t rows) {
    strip_product(rows, head.head_dim, pair.seen_keys(i, rows), {s.dscores + i * kBlock, kBlock, 1},
                  {s.keys + pair.key * padded, padded},
                  {dq + (pair.query + i) * head.qkv_row, head.qkv_row, pair.key > 0});
  });
}

void backward(const AttentionHead& head, const float* out, const float* lse, const float* dout, float* scratch,
              AttentionGradients gradients) {
  const BackwardScratch s(head, scratch);
  transpose_blocks(head, head.k, s.keys_t);
  transpose_blocks(head, head.v, s.values_t);
  copy_rows(head.k, head.qkv_row, head.length, head.head_dim, s.keys);
  for (int64_t query = 0; query < head.length; query += kBlock) {
    const int64_t queries = least(kBlock, head.length - query);
    const float* block_dout = dout + query * head.out_row;
    copy_rows(head.q + query * head.qkv_row, head.qkv_row, queries, head.head_dim, s.queries);
    copy_rows(block_dout, head.out_row, queries, head.head_dim, s.dout);
    for (int64_t i = 0; i < queries; ++i) {
      s.delta[i] = dot(out + (query + i) * head.out_row, block_dout + i * head.out_row, head.head_dim);
    }
    for (int64_t key = 0; key < end_of_keys(head, query); key += kBlock) {
      const BlockPair pair(head, query, key);
      scores_of_pair(head, pair, lse, s);
      add_over_queries(head, pair, s.probabilities, s.dout, gradients.dv);
      add_over_queries(head, pair, s.dscores, s.queries, gradients.dk);
      add_to_dq(head, pair, s, gradients.dq);
    }
  }
}

}  // namespace

const ops::AttentionKernels kAttentionKernels = {forward, backward};

}  // namespace tidemark::TM_ISA_NAMESPACE
