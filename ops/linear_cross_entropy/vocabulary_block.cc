#include "ops/linear_cross_entropy/vocabulary_block.h"

#include "ops/simd/exp.h"
#include "ops/simd/tile_product.h"

namespace tidemark::TM_ISA_NAMESPACE {
namespace {

using ops::SoftmaxSums;
using ops::VocabularyBlock;

int64_t panel_width(int64_t columns, int64_t panel) {
  const int64_t rest = columns - panel * kTileColumns;
  return rest < kTileColumns ? rest : kTileColumns;
}

int64_t panel_count(int64_t columns) { return (columns + kTileColumns - 1) / kTileColumns; }

// One panel: rows [depth] of kTileColumns floats, the columns beyond `width` zero.
void pack_panel(const float* from, int64_t stride, int64_t depth, int64_t width, float* panel) {
  for (int64_t k = 0; k < depth; ++k) {
    const float* row = from + k * stride;
    float* to = panel + k * kTileColumns;
    if (width == kTileColumns) {
      for (int64_t j = 0; j < kTileColumns; j += kLanes) store(to + j, load(row + j));
    } else {
      for (int64_t j = 0; j < kTileColumns; ++j) to[j] = j < width ? row[j] : 0.0f;
    }
  }
}

void pack(const float* x, int64_t samples, int64_t channels, int64_t begin, int64_t end, float* packed) {
  for (int64_t p = begin; p < end; ++p) {
    pack_panel(x + p * kTileColumns, channels, samples, panel_width(channels, p), packed + p * samples * kTileColumns);
  }
}

void pack_transposed(const float* x, int64_t samples, int64_t channels, int64_t begin, int64_t end, float* packed) {
  for (int64_t p = begin; p < end; ++p) {
    const int64_t width = panel_width(samples, p);
    const float* from = x + p * kTileColumns * channels;
    float* to = packed + p * channels * kTileColumns;
    for (int64_t c = 0; c < channels; ++c, to += kTileColumns) {
      for (int64_t j = 0; j < width; ++j) to[j] = from[j * channels + c];
      for (int64_t j = width < 0 ? 0 : width; j < kTileColumns; ++j) to[j] = 0.0f;
    }
  }
}

// Asks for rows [begin, end) of `columns` floats, which are needed a few thousand cycles later.
void prefetch_rows(const float* from, int64_t stride, int64_t begin, int64_t end, int64_t columns) {
  constexpr int64_t kLineFloats = 16;
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t j = 0; j < columns; j += kLineFloats) __builtin_prefetch(from + i * stride + j, 0, 2);
  }
}

int64_t strip_rows(int64_t rows, int64_t begin) {
  const int64_t rest = rows - begin;
  return rest < kTileRows ? rest : kTileRows;
}

// In all three products strips of rows are outermost where rows of the weight or of its gradient stream through, so
// that each is touched once while the panels stay cached; the next strip's rows are fetched meanwhile.
void logits(const VocabularyBlock& block, const float* x_transposed) {
  const int64_t panels = block.stride / kTileColumns;
  for (int64_t i = 0; i < block.rows; i += kTileRows) {
    const int64_t rows = strip_rows(block.rows, i);
    const float* weight = block.weight + i * block.channels;
    for (int64_t p = 0; p < panels; ++p) {
      const int64_t ahead = kTileRows + p * kTileRows / panels, until = kTileRows + (p + 1) * kTileRows / panels;
      prefetch_rows(weight, block.channels, ahead, until, block.channels);
      strip_product(rows, kTileColumns, block.channels, {weight, block.channels, 1},
                    {x_transposed + p * block.channels * kTileColumns, kTileColumns},
                    {block.logits + i * block.stride + p * kTileColumns, block.stride, false});
    }
  }
}

void add_to_softmax(const VocabularyBlock& block, SoftmaxSums sums) {
  for (int64_t j = 0; j < block.stride; j += kTileColumns) {
    VecF most[kTileVectors], sum[kTileVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kTileVectors; ++v) most[v] = load(sums.maximum + j + v * kLanes);
    for (int64_t i = 0; i < block.rows; ++i) {
#pragma GCC unroll 8
      for (int v = 0; v < kTileVectors; ++v) {
        most[v] = maximum(most[v], load(block.logits + i * block.stride + j + v * kLanes));
      }
    }
#pragma GCC unroll 8
    for (int v = 0; v < kTileVectors; ++v) {
      sum[v] = load(sums.sum + j + v * kLanes) * exp(load(sums.maximum + j + v * kLanes) - most[v]);
    }
    for (int64_t i = 0; i < block.rows; ++i) {
#pragma GCC unroll 8
      for (int v = 0; v < kTileVectors; ++v) {
        sum[v] += exp(load(block.logits + i * block.stride + j + v * kLanes) - most[v]);
      }
    }
#pragma GCC unroll 8
    for (int v = 0; v < kTileVectors; ++v) {
      store(sums.maximum + j + v * kLanes, most[v]);
      store(sums.sum + j + v * kLanes, sum[v]);
    }
  }
}

void probabilities(const VocabularyBlock& block, const float* log_sum, const float* scale) {
  for (int64_t i = 0; i < block.rows; ++i) {
    float* row = block.logits + i * block.stride;
    for (int64_t j = 0; j < block.stride; j += kLanes) {
      store(row + j, exp(load(row + j) - load(log_sum + j)) * load(scale + j));
    }
  }
}

// One panel of the weight at a time serves all samples; the rows of the next panel are fetched along the way.
void input_gradient(const VocabularyBlock& block, float* panel, float* dx, bool accumulate) {
  const int64_t strips = (block.samples + kTileRows - 1) / kTileRows;
  for (int64_t p = 0; p < panel_count(block.channels); ++p) {
    const int64_t column = p * kTileColumns, width = panel_width(block.channels, p);
    const float* weight = block.weight + column;
    pack_panel(weight, block.channels, block.rows, width, panel);
    for (int64_t s = 0; s < strips; ++s) {
      const int64_t i = s * kTileRows, ahead = s * block.rows / strips, until = (s + 1) * block.rows / strips;
      prefetch_rows(weight + kTileColumns, block.channels, ahead, until, kTileColumns);
      strip_product(strip_rows(block.samples, i), width, block.rows, {block.logits + i, 1, block.stride},
                    {panel, kTileColumns}, {dx + i * block.channels + column, block.channels, accumulate});
    }
  }
}

void weight_gradient(const VocabularyBlock& block, const float* x_packed, float* dweight, bool accumulate) {
  for (int64_t i = 0; i < block.rows; i += kTileRows) {
    const int64_t rows = strip_rows(block.rows, i);
    for (int64_t p = 0; p < panel_count(block.channels); ++p) {
      float* to = dweight + i * block.channels + p * kTileColumns;
      prefetch_rows(to, block.channels, kTileRows, 2 * kTileRows, kTileColumns);
      strip_product(rows, panel_width(block.channels, p), block.samples,
                    {block.logits + i * block.stride, block.stride, 1},
                    {x_packed + p * block.samples * kTileColumns, kTileColumns}, {to, block.channels, accumulate});
    }
  }
}

}  // namespace

const ops::VocabularyKernels kVocabularyKernels = {kTileColumns,   pack_transposed, pack,           logits,
                                                   add_to_softmax, probabilities,   input_gradient, weight_gradient};

}  // namespace tidemark::TM_ISA_NAMESPACE
