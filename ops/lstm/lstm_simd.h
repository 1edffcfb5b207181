// One time step of an LSTM, once per CPU level. Rows are samples; sums go through them one by one, so that a row's bits
// do not hang on who computes it.
#pragma once

#include <cstdint>

namespace tidemark {

namespace ops {

// Columns of the recurrent weight that are multiplied at once. Forward panels hold kLstmPanelUnits hidden units with
// their four gates, as [H][gate][unit]; backward ones hold kLstmPanel hidden units, as [4H][unit].
inline constexpr int64_t kLstmPanel = 64;
inline constexpr int64_t kLstmPanelUnits = kLstmPanel / 4;

// Blocks of rows go round `parts`; a call computes those of `part`, the same samples at every step.
struct LstmForwardStep {
  int64_t hidden = 0;
  int64_t rows = 0;
  int part = 0, parts = 1;
  const float* x = nullptr;         // [rows][4H]
  const float* h_before = nullptr;  // [rows][H], as c_before; both nullptr at step 0
  const float* c_before = nullptr;
  const float* panels = nullptr;  // of w
  float* gates = nullptr;         // [rows][4H]; may be x
  float* cells = nullptr;         // [rows][H]
  float* h = nullptr;             // [rows][H]
};

struct LstmBackwardStep {
  int64_t hidden = 0;
  int64_t rows = 0;
  int64_t rows_after = 0;  // of the step after: what it passed back is in `carry`
  int part = 0, parts = 1;
  const float* dh = nullptr;        // [rows][H]
  const float* gates = nullptr;     // [rows][4H]
  const float* cells = nullptr;     // [rows][H]
  const float* c_before = nullptr;  // [rows][H]; nullptr at step 0
  const float* panels = nullptr;    // of w
  float* dx = nullptr;              // [rows][4H]; may be gates
  float* carry_h = nullptr;         // [rows][H]: in, gradient of h from the step after; out, for the step before
  float* carry_c = nullptr;         // likewise of c
};

}  // namespace ops

#define TM_DECLARE_LSTM(isa)                               \
  namespace isa {                                          \
  void lstm_forward_step(const ops::LstmForwardStep& s);   \
  void lstm_backward_step(const ops::LstmBackwardStep& s); \
  }
TM_DECLARE_LSTM(isa_v2)
TM_DECLARE_LSTM(isa_v3)
TM_DECLARE_LSTM(isa_v4)
#undef TM_DECLARE_LSTM

}  // namespace tidemark
