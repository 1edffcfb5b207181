// Matrix products in register tiles, for every CPU level:
//
//   C [rows][columns] = L · R + bias   or   C += L · R,   L [rows][depth], R [depth][columns] with contiguous rows
//
// Note [Column panels] in tiles_simd.cc tells how it works, Note [Tiles or oneDNN] in matmul_tiles.cc what it is for.
// Threads take ranges of columns; the order of every sum hangs on `depth` and `depth_block` alone.
#pragma once

#include <cstdint>

namespace tidemark::ops {

struct TileProduct {
  int64_t rows = 0, columns = 0, depth = 0;
  const float* left = nullptr;  // [rows][depth], or [depth][rows] if left_transposed
  bool left_transposed = false;
  const float* right = nullptr;  // [depth][columns]
  const float* bias = nullptr;   // [columns] or nullptr
  float* c = nullptr;            // [rows][columns]
  bool accumulate = false;       // adds to C, which is never read otherwise
};

// How a product is cut, chosen when a kernel is made.
struct TileCut {
  int64_t depth_block = 0;   // terms of a sum at once, at most
  int64_t group_panels = 0;  // panels of columns that stay in the cache together
};

struct TileKernels {
  int64_t panel_columns;
  // Floats of scratch that a call of multiply() needs; the scratch is 64-byte aligned.
  int64_t (*scratch_floats)(const TileCut& cut);
  // Columns [begin, end) of C: both are multiples of panel_columns, or end is `columns`.
  void (*multiply)(const TileProduct& product, const TileCut& cut, int64_t begin, int64_t end, float* scratch);
};

}  // namespace tidemark::ops

namespace tidemark::isa_v2 {
extern const ops::TileKernels kTileKernels;
}
namespace tidemark::isa_v3 {
extern const ops::TileKernels kTileKernels;
}
namespace tidemark::isa_v4 {
extern const ops::TileKernels kTileKernels;
}
