// Small matrix products c = a · b or c += a · b on strided operands, in registers. For sources of tm_simd_library only.
//
// Note [Register tiles]
// A tile of c, kTileRows x (kTileVectors * kLanes), stays in registers for the whole depth: each step loads
// kTileVectors vectors of b, spreads one element of a per row and issues kTileRows * kTileVectors multiply-adds, more
// than loads, and enough independent sums to hide their latency. Callers keep b contiguous (a panel as wide as a tile,
// so that its lines do not fall into few cache sets) and small enough for the first or second cache level; a may have
// any strides, so that a product with a transposed left operand needs no copy.
#pragma once

#include "ops/simd/vector.h"

namespace tidemark::TM_ISA_NAMESPACE {

// Sums, vectors of b and one spread element must fit the 32 (level 4) or 16 registers.
#if TM_ISA_LEVEL >= 4
inline constexpr int kTileRows = 6, kTileVectors = 4;
#elif TM_ISA_LEVEL == 3
inline constexpr int kTileRows = 6, kTileVectors = 2;
#else
inline constexpr int kTileRows = 4, kTileVectors = 2;
#endif
inline constexpr int64_t kTileColumns = kTileVectors * kLanes;

// Element (i, k) is data[i * row + k * column].
struct LeftOperand {
  const float* data;
  int64_t row;
  int64_t column;
};

// Element (k, j) is data[k * row + j]; rows must be readable up to a multiple of kLanes columns.
struct RightOperand {
  const float* data;
  int64_t row;
};

// Element (i, j) is data[i * row + j].
struct Destination {
  float* data;
  int64_t row;
  bool accumulate;  // false: what is there is overwritten, and never read
};

template <int Rows, int Vectors>
inline void tile_product(int64_t depth, LeftOperand a, RightOperand b, Destination c) {
  VecF sums[Rows][Vectors];
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j) {
      sums[i][j] = c.accumulate ? load(c.data + i * c.row + j * kLanes) : VecF{};
    }
  }
  for (int64_t k = 0; k < depth; ++k) {
    VecF right[Vectors];
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j) right[j] = load(b.data + k * b.row + j * kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i) {
      const VecF left = spread(a.data[i * a.row + k * a.column]);
#pragma GCC unroll 8
      for (int j = 0; j < Vectors; ++j) sums[i][j] += left * right[j];
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j) store(c.data + i * c.row + j * kLanes, sums[i][j]);
  }
}

// The last columns, fewer than a vector: computed whole beside the destination.
template <int Rows>
inline void narrow_product(int64_t columns, int64_t depth, LeftOperand a, RightOperand b, Destination c) {
  alignas(64) float whole[Rows * kLanes];
  for (int i = 0; c.accumulate && i < Rows; ++i) {
    store(whole + i * kLanes, load_first(c.data + i * c.row, columns, 0.0f));
  }
  tile_product<Rows, 1>(depth, a, b, {whole, kLanes, c.accumulate});
  for (int i = 0; i < Rows; ++i) store_first(c.data + i * c.row, load(whole + i * kLanes), columns);
}

template <int Rows>
inline void row_product(int64_t columns, int64_t depth, LeftOperand a, RightOperand b, Destination c) {
  while (columns >= kLanes) {
    int64_t width = kLanes;
    if (kTileVectors >= 4 && columns >= 4 * kLanes) {
      tile_product<Rows, kTileVectors >= 4 ? 4 : 1>(depth, a, b, c);
      width = 4 * kLanes;
    } else if (kTileVectors >= 3 && columns >= 3 * kLanes) {
      tile_product<Rows, kTileVectors >= 3 ? 3 : 1>(depth, a, b, c);
      width = 3 * kLanes;
    } else if (columns >= 2 * kLanes) {
      tile_product<Rows, 2>(depth, a, b, c);
      width = 2 * kLanes;
    } else {
      tile_product<Rows, 1>(depth, a, b, c);
    }
    columns -= width, b.data += width, c.data += width;
  }
  if (columns > 0) narrow_product<Rows>(columns, depth, a, b, c);
}

// c[rows][columns] (+)= a[rows][depth] · b[depth][columns] for 1 <= rows <= kTileRows.
inline void strip_product(int64_t rows, int64_t columns, int64_t depth, LeftOperand a, RightOperand b, Destination c) {
  switch (rows) {
    case 1:
      return row_product<1>(columns, depth, a, b, c);
    case 2:
      return row_product<2>(columns, depth, a, b, c);
    case 3:
      return row_product<3>(columns, depth, a, b, c);
    case 4:
      return row_product<4>(columns, depth, a, b, c);
#if TM_ISA_LEVEL >= 3
    case 5:
      return row_product<5>(columns, depth, a, b, c);
    case 6:
      return row_product<6>(columns, depth, a, b, c);
#endif
  }
}

// The same for any number of rows.
inline void matrix_product(int64_t rows, int64_t columns, int64_t depth, LeftOperand a, RightOperand b, Destination c) {
  for (int64_t i = 0; i < rows; i += kTileRows) {
    const int64_t count = rows - i < kTileRows ? rows - i : kTileRows;
    strip_product(count, columns, depth, {a.data + i * a.row, a.row, a.column}, b,
                  {c.data + i * c.row, c.row, c.accumulate});
  }
}

}  // namespace tidemark::TM_ISA_NAMESPACE
