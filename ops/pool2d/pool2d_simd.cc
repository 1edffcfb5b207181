#include "ops/pool2d/pool2d_simd.h"

namespace tidemark::TM_ISA_NAMESPACE {
namespace {

// The first candidate of a window.
void start_maximum(const float* x, uint8_t place, int64_t channels, float* best, uint8_t* index) {
#pragma GCC ivdep
  for (int64_t c = 0; c < channels; ++c) best[c] = x[c], index[c] = place;
}

// NaN once taken stays, as nothing is larger.
void raise_maximum(const float* x, uint8_t place, int64_t channels, float* best, uint8_t* index) {
#pragma GCC ivdep
  for (int64_t c = 0; c < channels; ++c) {
    const bool larger = (x[c] > best[c]) | (x[c] != x[c]);
    best[c] = larger ? x[c] : best[c];
    index[c] = larger ? place : index[c];
  }
}

void add_where(const float* dy, const uint8_t* index, uint8_t place, int64_t channels, float* dx) {
#pragma GCC ivdep
  for (int64_t c = 0; c < channels; ++c) dx[c] += index[c] == place ? dy[c] : 0.0f;
}

}  // namespace

void max_pool_row(const MaxPoolSizes& s, const float* x, int64_t out_row, float* y, uint8_t* indices) {
  for (int64_t j = 0; j < s.out_width; ++j) {
    float* best = y + j * s.channels;
    uint8_t* index = indices + j * s.channels;
    bool first = true;
    for (int64_t place = 0; place < s.window * s.window; ++place) {
      const int64_t row = out_row * s.stride - s.pad + place / s.window;
      const int64_t column = j * s.stride - s.pad + place % s.window;
      if (row < 0 || row >= s.height || column < 0 || column >= s.width) continue;
      const float* from = x + (row * s.width + column) * s.channels;
      (first ? start_maximum : raise_maximum)(from, static_cast<uint8_t>(place), s.channels, best, index);
      first = false;
    }
  }
}

// A gather over the windows that cover the row, in ascending order: rows can be shared out over threads, and the order
// of sums is fixed.
void max_pool_grad_row(const MaxPoolSizes& s, const float* dy, const uint8_t* indices, int64_t row, float* dx) {
  for (int64_t i = 0; i < s.width * s.channels; ++i) dx[i] = 0.0f;
  for (int64_t i = 0; i < s.out_height; ++i) {
    const int64_t place_row = row - (i * s.stride - s.pad);
    if (place_row < 0 || place_row >= s.window) continue;
    for (int64_t j = 0; j < s.out_width; ++j) {
      const int64_t at = (i * s.out_width + j) * s.channels;
      for (int64_t q = 0; q < s.window; ++q) {
        const int64_t column = j * s.stride - s.pad + q;
        if (column < 0 || column >= s.width) continue;
        const uint8_t place = static_cast<uint8_t>(place_row * s.window + q);
        add_where(dy + at, indices + at, place, s.channels, dx + column * s.channels);
      }
    }
  }
}

void average_rows(const float* x, int64_t rows, int64_t channels, float* y) {
  for (int64_t c = 0; c < channels; ++c) y[c] = 0.0f;
  for (int64_t r = 0; r < rows; ++r) {
    const float* from = x + r * channels;
#pragma GCC ivdep
    for (int64_t c = 0; c < channels; ++c) y[c] += from[c];
  }
  for (int64_t c = 0; c < channels; ++c) y[c] /= static_cast<float>(rows);
}

}  // namespace tidemark::TM_ISA_NAMESPACE
