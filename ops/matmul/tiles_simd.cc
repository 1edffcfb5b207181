// Note [Column panels]
// R is taken in panels as wide as a register tile and `depth_block` deep, which are packed so that they lie densely in
// the second-level cache; a group of panels is multiplied with all rows of L, a strip of kRows at a time. With L in
// place the first strip reads R where it lies and leaves the panel behind: its loads wait for memory while
// multiply-adds of earlier terms are under way, and R passes through the registers once. A transposed L (gradients of
// weights) is packed two strips at a time, as its columns would else fall into few cache sets; R, the activations, is
// packed beforehand.
//
// A tile of C stays in registers for the whole depth block. It begins with the bias or zero; what it is added to is
// fetched when the tile begins and read when it ends, so that nothing waits for it.
//
// Tried without gain on Zen 5 under a hypervisor: software prefetch of the next panel (it is dropped where the page is
// not in the TLB), tiles of 12 x 2 vectors, and transposing R on the way.
#include "ops/matmul/tiles.h"
#include "ops/simd/vector.h"

namespace tidemark::TM_ISA_NAMESPACE {
namespace {

using ops::TileCut;
using ops::TileProduct;

// Sums, vectors of R and one spread element must fit the 32 (level 4) or 16 registers.
#if TM_ISA_LEVEL >= 4
constexpr int kRows = 8, kVectors = 3;
#elif TM_ISA_LEVEL == 3
constexpr int kRows = 6, kVectors = 2;
#else
constexpr int kRows = 4, kVectors = 2;
#endif
constexpr int64_t kColumns = kVectors * kLanes;
constexpr int64_t kStripRows = 2 * kRows;  // of a packed strip of L

int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// Rows of L: in place, row i at data + i * row; or packed as [depth][kStripRows].
struct LeftStrip {
  const float* data;
  int64_t row;
  bool packed;

  LeftStrip from(int64_t i) const { return {data + i * (packed ? 1 : row), row, packed}; }
};

// Rows of R, read from `from`; with `copy` each is also stored to [depth][kColumns] there.
struct RightPanel {
  const float* from;
  int64_t row;
  float* copy;
};

// Where a tile goes: element (i, j) is data[i * row + j].
struct TileTarget {
  float* data;
  int64_t row;
  bool add;
};

template <int Rows, bool Packed, bool Copies>
void tile(int64_t depth, LeftStrip left, RightPanel right, const float* start, TileTarget to) {
  const int64_t right_row = Copies ? right.row : kColumns;
  VecF sums[Rows][kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) sums[i][j] = load(start + j * kLanes);
  }
#pragma GCC unroll 2
  for (int64_t k = 0; k < depth; ++k) {
    VecF row[kVectors];
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) {
      row[j] = load(right.from + k * right_row + j * kLanes);
      if (Copies) store(right.copy + k * kColumns + j * kLanes, row[j]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i) {
      const VecF element = spread(left.data[Packed ? k * kStripRows + i : i * left.row + k]);
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; ++j) sums[i][j] += element * row[j];
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) {
      float* at = to.data + i * to.row + j * kLanes;
      store(at, to.add ? sums[i][j] + load(at) : sums[i][j]);
    }
  }
}

template <int Rows>
void tile_of_rows(int64_t depth, LeftStrip left, RightPanel right, const float* start, TileTarget to) {
  if (left.packed) return tile<Rows, true, false>(depth, left, right, start, to);
  if (right.copy != nullptr) return tile<Rows, false, true>(depth, left, right, start, to);
  tile<Rows, false, false>(depth, left, right, start, to);
}

// `rows` of `Rows` or fewer.
template <int Rows = kRows>
void tile_of(int64_t rows, int64_t depth, LeftStrip left, RightPanel right, const float* start, TileTarget to) {
  if (rows == Rows) return tile_of_rows<Rows>(depth, left, right, start, to);
  if constexpr (Rows > 1) tile_of<Rows - 1>(rows, depth, left, right, start, to);
}

// The last columns, fewer than a tile has: computed whole beside C.
void narrow_tile(int64_t rows, int64_t width, int64_t depth, LeftStrip left, RightPanel right, const float* start,
                 TileTarget to) {
  alignas(64) float whole[kRows * kColumns];
  tile_of(rows, depth, left, right, start, {whole, kColumns, false});
  for (int64_t i = 0; i < rows; ++i) {
    float* row = to.data + i * to.row;
    for (int64_t j = 0; j < width; ++j) row[j] = to.add ? row[j] + whole[i * kColumns + j] : whole[i * kColumns + j];
  }
}

// Rows of `width` floats, packed as [count][Width]; what lies beyond `width` is zero.
template <int64_t Width>
void pack_rows(const float* from, int64_t from_row, int64_t count, int64_t width, float* to) {
  if (width == Width) {
    for (int64_t k = 0; k < count; ++k) std::memcpy(to + k * Width, from + k * from_row, Width * sizeof(float));
    return;
  }
  for (int64_t k = 0; k < count; ++k) {
    for (int64_t j = 0; j < Width; ++j) to[k * Width + j] = j < width ? from[k * from_row + j] : 0.0f;
  }
}

// One group of panels at one block of the depth.
struct Step {
  int64_t column, columns, term, terms;
};

class Multiplication {
 public:
  Multiplication(const TileProduct& product, const TileCut& cut, int64_t begin, int64_t end, float* scratch)
      : p_(product),
        cut_(cut),
        begin_(begin),
        end_(end),
        panels_(scratch),
        strip_(scratch + cut.group_panels * cut.depth_block * kColumns) {}

  // Blocks of the depth outermost, so that one block of L serves all panels from the cache.
  void run() const {
    for (int64_t term = 0; term < p_.depth; term += cut_.depth_block) {
      const int64_t terms = least(cut_.depth_block, p_.depth - term), group = cut_.group_panels * kColumns;
      for (int64_t column = begin_; column < end_; column += group) {
        const Step step{column, least(group, end_ - column), term, terms};
        pack(step);
        multiply(step);
      }
    }
  }

 private:
  int64_t width(const Step& s, int64_t j) const { return least(kColumns, s.columns - j); }
  const float* source(const Step& s, int64_t j) const { return p_.right + s.term * p_.columns + s.column + j; }
  float* panel(int64_t j) const { return panels_ + j * cut_.depth_block; }  // of column j of the group

  // Whether the first strip packs the panel of column j.
  bool first_strip_packs(const Step& s, int64_t j) const { return !p_.left_transposed && width(s, j) == kColumns; }

  void pack(const Step& s) const {
    for (int64_t j = 0; j < s.columns; j += kColumns) {
      if (first_strip_packs(s, j)) continue;
      pack_rows<kColumns>(source(s, j), p_.columns, s.terms, width(s, j), panel(j));
    }
  }

  void multiply(const Step& s) const {
    const int64_t strip_rows = p_.left_transposed ? kStripRows : kRows;
    for (int64_t i = 0; i < p_.rows; i += strip_rows) {
      const int64_t rows = least(strip_rows, p_.rows - i);
      const LeftStrip left = left_strip(s, i, rows);
      for (int64_t first = 0; first < rows; first += kRows) {
        for (int64_t j = 0; j < s.columns; j += kColumns) {
          one_tile(s, i + first, least(kRows, rows - first), j, left.from(first));
        }
      }
    }
  }

  LeftStrip left_strip(const Step& s, int64_t row, int64_t rows) const {
    if (!p_.left_transposed) return {p_.left + row * p_.depth + s.term, p_.depth, false};
    pack_rows<kStripRows>(p_.left + s.term * p_.rows + row, p_.rows, s.terms, rows, strip_);
    return {strip_, 0, true};
  }

  RightPanel right_panel(const Step& s, int64_t row, int64_t j) const {
    if (row == 0 && first_strip_packs(s, j)) return {source(s, j), p_.columns, panel(j)};
    return {panel(j), kColumns, nullptr};
  }

  void one_tile(const Step& s, int64_t row, int64_t rows, int64_t j, LeftStrip left) const {
    const int64_t columns = width(s, j);
    const TileTarget to{p_.c + row * p_.columns + s.column + j, p_.columns, p_.accumulate || s.term > 0};
    fetch(to, rows, columns);
    alignas(64) float start[kColumns] = {};
    if (p_.bias != nullptr && s.term == 0) {
      std::memcpy(start, p_.bias + s.column + j, static_cast<size_t>(columns) * sizeof(float));
    }
    const RightPanel right = right_panel(s, row, j);
    if (columns == kColumns) {
      tile_of(rows, s.terms, left, right, start, to);
    } else {
      narrow_tile(rows, columns, s.terms, left, right, start, to);
    }
  }

  static void fetch(TileTarget to, int64_t rows, int64_t columns) {
    constexpr int64_t kLineFloats = 16;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; j += kLineFloats) __builtin_prefetch(to.data + i * to.row + j, 1, 3);
    }
  }

  const TileProduct& p_;
  const TileCut& cut_;
  const int64_t begin_, end_;
  float* const panels_;
  float* const strip_;
};

int64_t scratch_floats(const TileCut& cut) { return cut.depth_block * (cut.group_panels * kColumns + kStripRows); }

void multiply(const TileProduct& product, const TileCut& cut, int64_t begin, int64_t end, float* scratch) {
  Multiplication(product, cut, begin, end, scratch).run();
}

}  // namespace

const ops::TileKernels kTileKernels = {kColumns, scratch_floats, multiply};

}  // namespace tidemark::TM_ISA_NAMESPACE
