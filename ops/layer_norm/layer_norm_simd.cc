#include "ops/layer_norm/layer_norm_simd.h"

#include <cmath>

#include "ops/layer_norm/layer_norm_math.h"
#include "ops/simd/vector.h"

namespace tidemark::TM_ISA_NAMESPACE {
namespace {

using ops::layer_norm_dx;
using ops::layer_norm_normalized;
using ops::layer_norm_output;

// Calls visit(first channel, lanes) for all vectors of a row; the last may be partial.
template <class Visit>
inline void for_each_vector(int64_t channels, Visit visit) {
  int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) visit(c, kLanes);
  if (c < channels) visit(c, channels - c);
}

inline VecF load_lanes(const float* from, int64_t lanes, float filler = 0.0f) {
  return lanes == kLanes ? load(from) : load_first(from, lanes, filler);
}

inline void store_lanes(float* to, VecF v, int64_t lanes) {
  if (lanes == kLanes) {
    store(to, v);
  } else {
    store_first(to, v, lanes);
  }
}

// Two independent sums, so that an addition need not wait for the one before.
struct LaneSums {
  VecF even = {}, odd = {};
  void add(int64_t c, VecF v) {
    if ((c / kLanes) & 1) {
      odd += v;
    } else {
      even += v;
    }
  }
  float total() const { return sum_of_lanes(even + odd); }
};

void layer_norm_row(int64_t channels, float eps, const float* x, const float* gamma, const float* beta, float* y,
                    float* mean_out, float* rstd_out) {
  LaneSums sum;
  for_each_vector(channels, [&](int64_t c, int64_t lanes) { sum.add(c, load_lanes(x + c, lanes)); });
  const float mean = sum.total() / static_cast<float>(channels);
  LaneSums squares;  // of the differences: no cancellation where the mean is large
  for_each_vector(channels, [&](int64_t c, int64_t lanes) {
    const VecF difference = load_lanes(x + c, lanes, mean) - mean;
    squares.add(c, difference * difference);
  });
  const float rstd = 1.0f / std::sqrt(squares.total() / static_cast<float>(channels) + eps);
  for_each_vector(channels, [&](int64_t c, int64_t lanes) {
    const VecF normalized = layer_norm_normalized(load_lanes(x + c, lanes), mean, rstd);
    store_lanes(y + c, layer_norm_output(normalized, load_lanes(gamma + c, lanes), load_lanes(beta + c, lanes)), lanes);
  });
  *mean_out = mean;
  *rstd_out = rstd;
}

// dx of row i; adds the row to dgamma and dbeta.
void layer_norm_grad_row(const ops::LayerNormGradRows& rows, int64_t i, float* dgamma, float* dbeta) {
  const int64_t channels = rows.channels, at = i * channels;
  const float mean = rows.mean[i], rstd = rows.rstd[i];
  LaneSums dy_gamma_sum, product_sum;
  for_each_vector(channels, [&](int64_t c, int64_t lanes) {
    const VecF normalized = layer_norm_normalized(load_lanes(rows.x + at + c, lanes), mean, rstd);
    const VecF dy = load_lanes(rows.dy + at + c, lanes);
    const VecF dy_gamma = dy * load_lanes(rows.gamma + c, lanes);
    dy_gamma_sum.add(c, dy_gamma);
    product_sum.add(c, dy_gamma * normalized);
    store_lanes(dgamma + c, load_lanes(dgamma + c, lanes) + dy * normalized, lanes);
    store_lanes(dbeta + c, load_lanes(dbeta + c, lanes) + dy, lanes);
  });
  const float mean_dy_gamma = dy_gamma_sum.total() / static_cast<float>(channels);
  const float mean_product = product_sum.total() / static_cast<float>(channels);
  for_each_vector(channels, [&](int64_t c, int64_t lanes) {
    const VecF normalized = layer_norm_normalized(load_lanes(rows.x + at + c, lanes), mean, rstd);
    const VecF dy_gamma = load_lanes(rows.dy + at + c, lanes) * load_lanes(rows.gamma + c, lanes);
    VecF dx = layer_norm_dx(dy_gamma, normalized, mean_dy_gamma, mean_product, rstd);
    if (rows.acc_dx) dx += load_lanes(rows.acc_dx + at + c, lanes);
    store_lanes(rows.dx + at + c, dx, lanes);
  });
}

void add_to(const float* from, int64_t channels, float* to) {
  for (int64_t c = 0; c < channels; ++c) to[c] += from[c];
}

void clear(float* values, int64_t channels) { std::memset(values, 0, static_cast<size_t>(channels) * sizeof(float)); }

}  // namespace

void layer_norm_rows(int64_t rows, int64_t channels, float eps, const float* x, const float* gamma, const float* beta,
                     float* y, float* mean, float* rstd) {
  for (int64_t i = 0; i < rows; ++i) {
    layer_norm_row(channels, eps, x + i * channels, gamma, beta, y + i * channels, mean + i, rstd + i);
  }
}

// Sums of blocks of rows first, then of the blocks: rounding errors grow with the root of the length of a chain, and a
// large batch has thousands of rows.
void layer_norm_grad_rows(const ops::LayerNormGradRows& rows, float* scratch, float* dgamma, float* dbeta) {
  constexpr int64_t kBlockRows = 64;
  float *block_dgamma = scratch, *block_dbeta = scratch + rows.channels;
  clear(dgamma, rows.channels);
  clear(dbeta, rows.channels);
  for (int64_t begin = 0; begin < rows.rows; begin += kBlockRows) {
    clear(block_dgamma, rows.channels);
    clear(block_dbeta, rows.channels);
    const int64_t end = begin + kBlockRows < rows.rows ? begin + kBlockRows : rows.rows;
    for (int64_t i = begin; i < end; ++i) layer_norm_grad_row(rows, i, block_dgamma, block_dbeta);
    add_to(block_dgamma, rows.channels, dgamma);
    add_to(block_dbeta, rows.channels, dbeta);
  }
}

}  // namespace tidemark::TM_ISA_NAMESPACE
