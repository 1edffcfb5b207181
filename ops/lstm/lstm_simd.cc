#include "ops/lstm/lstm_simd.h"

#include "ops/simd/exp.h"
#include "ops/simd/tile_product.h"
#include "ops/simd/vector.h"

namespace tidemark::TM_ISA_NAMESPACE {
namespace {

using ops::kLstmPanel;
using ops::kLstmPanelUnits;
using ops::LstmBackwardStep;
using ops::LstmForwardStep;

inline VecF load_lanes(const float* from, int64_t lanes) {
  return lanes >= kLanes ? load(from) : load_first(from, lanes, 0.0f);
}

inline void store_lanes(float* to, VecF v, int64_t lanes) {
  if (lanes >= kLanes) {
    store(to, v);
  } else {
    store_first(to, v, lanes);
  }
}

inline VecF sigmoid(VecF x) { return 1.0f / (1.0f + exp(-x)); }

// (1 - e^-2|x|) / (1 + e^-2|x|) cancels for small x: there the Taylor polynomial of degree 9, whose remainder is below
// a unit in the last place.
inline VecF tanh(VecF x) {
  constexpr float kSmall = 0.25f;
  const VecF size = maximum(x, -x), square = x * x;
  const VecF e = exp(-2.0f * size);
  const VecF large = (1.0f - e) / (1.0f + e);
  VecF p = square * (62.0f / 2835) - 17.0f / 315;
  p = p * square + 2.0f / 15;
  p = p * square - 1.0f / 3;
  const VecF small = x * (p * square) + x;
  return size < kSmall ? small : (x < 0.0f ? -large : large);
}

// Calls visit(first row, rows) for the blocks of one part.
template <class Visit>
inline void for_each_block(int64_t rows, int part, int parts, Visit visit) {
  for (int64_t row = part * kTileRows; row < rows; row += parts * kTileRows) {
    visit(row, rows - row < kTileRows ? rows - row : kTileRows);
  }
}

// Gates, cell and output of row `row`, hidden units [unit, unit + lanes), from the recurrent share z [gate][unit].
inline void forward_lanes(const LstmForwardStep& s, int64_t row, int64_t unit, int64_t lanes, const float* z) {
  VecF gate[4];
  for (int g = 0; g < 4; ++g) {
    gate[g] = load(z + g * kLstmPanelUnits) + load_lanes(s.x + (row * 4 + g) * s.hidden + unit, lanes);
    gate[g] = g == 2 ? tanh(gate[g]) : sigmoid(gate[g]);
  }
  VecF c = gate[0] * gate[2];
  if (s.c_before) c = gate[1] * load_lanes(s.c_before + row * s.hidden + unit, lanes) + c;
  for (int g = 0; g < 4; ++g) store_lanes(s.gates + (row * 4 + g) * s.hidden + unit, gate[g], lanes);
  store_lanes(s.cells + row * s.hidden + unit, c, lanes);
  store_lanes(s.h + row * s.hidden + unit, gate[3] * tanh(c), lanes);
}

void forward_block(const LstmForwardStep& s, int64_t first_row, int64_t rows, int64_t first_unit) {
  alignas(64) float z[kTileRows * kLstmPanel] = {};
  if (s.h_before) {
    const float* panel = s.panels + first_unit / kLstmPanelUnits * s.hidden * kLstmPanel;
    strip_product(rows, kLstmPanel, s.hidden, {s.h_before + first_row * s.hidden, s.hidden, 1}, {panel, kLstmPanel},
                  {z, kLstmPanel, false});
  }
  const int64_t left = s.hidden - first_unit, units = left < kLstmPanelUnits ? left : kLstmPanelUnits;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < units; j += kLanes) {
      forward_lanes(s, first_row + i, first_unit + j, units - j, z + i * kLstmPanel + j);
    }
  }
}

// dx of row `row`, hidden units [unit, unit + lanes), and the gradient of the cell before.
inline void backward_lanes(const LstmBackwardStep& s, int64_t row, int64_t unit, int64_t lanes) {
  const int64_t at = row * s.hidden + unit;
  VecF gate[4];
  for (int g = 0; g < 4; ++g) gate[g] = load_lanes(s.gates + (row * 4 + g) * s.hidden + unit, lanes);
  const VecF tanh_c = tanh(load_lanes(s.cells + at, lanes));
  const VecF c_before = s.c_before ? load_lanes(s.c_before + at, lanes) : VecF{};
  VecF dh = load_lanes(s.dh + at, lanes);
  if (row < s.rows_after) dh += load_lanes(s.carry_h + at, lanes);
  VecF dc = dh * gate[3] * (1.0f - tanh_c * tanh_c);
  if (row < s.rows_after) dc += load_lanes(s.carry_c + at, lanes);
  const VecF dz[4] = {dc * gate[2] * gate[0] * (1.0f - gate[0]), dc * c_before * gate[1] * (1.0f - gate[1]),
                      dc * gate[0] * (1.0f - gate[2] * gate[2]), dh * tanh_c * gate[3] * (1.0f - gate[3])};
  for (int g = 0; g < 4; ++g) store_lanes(s.dx + (row * 4 + g) * s.hidden + unit, dz[g], lanes);
  store_lanes(s.carry_c + at, dc * gate[1], lanes);
}

}  // namespace

// Panels outermost: one serves all rows from the cache.
void lstm_forward_step(const LstmForwardStep& s) {
  for (int64_t unit = 0; unit < s.hidden; unit += kLstmPanelUnits) {
    for_each_block(s.rows, s.part, s.parts, [&](int64_t row, int64_t rows) { forward_block(s, row, rows, unit); });
  }
}

void lstm_backward_step(const LstmBackwardStep& s) {
  for_each_block(s.rows, s.part, s.parts, [&](int64_t row, int64_t rows) {
    for (int64_t i = row; i < row + rows; ++i) {
      for (int64_t unit = 0; unit < s.hidden; unit += kLanes) backward_lanes(s, i, unit, s.hidden - unit);
    }
  });
  if (!s.c_before) return;  // nothing comes before step 0
  for (int64_t unit = 0; unit < s.hidden; unit += kLstmPanel) {
    const int64_t units = s.hidden - unit < kLstmPanel ? s.hidden - unit : kLstmPanel;
    const float* panel = s.panels + unit * 4 * s.hidden;
    for_each_block(s.rows, s.part, s.parts, [&](int64_t row, int64_t rows) {
      strip_product(rows, units, 4 * s.hidden, {s.dx + row * 4 * s.hidden, 4 * s.hidden, 1}, {panel, kLstmPanel},
                    {s.carry_h + row * s.hidden + unit, s.hidden, false});
    });
  }
}

}  // namespace tidemark::TM_ISA_NAMESPACE
