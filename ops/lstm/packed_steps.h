// The time steps of packed rows: see lstm.h.
#pragma once

#include <cstdint>

#include "base/error.h"

namespace tidemark::ops {

struct PackedStep {
  int64_t step = 0;
  int64_t first_row = 0;
  int64_t samples = 0;
  int64_t before = 0;  // samples of the step before, whose rows end where these begin; 0 at step 0
  int64_t after = 0;   // samples of the step after; 0 at the last one
};

struct PackedLengths {
  const int32_t* lengths = nullptr;  // [batch], the longest first, >= 1
  int64_t batch = 0;
  int64_t rows = 0;  // sum of the lengths

  // Rows are addressed by the lengths alone, so that wrong ones would reach outside.
  void check() const {
    int64_t sum = 0;
    for (int64_t i = 0; i < batch; ++i) {
      TM_CHECK(lengths[i] >= 1 && (i == 0 || lengths[i] <= lengths[i - 1]),
               "packed lengths are ordered, longest first");
      sum += lengths[i];
    }
    TM_CHECK(sum == rows, "packed lengths add up to the rows");
  }

  // Samples that are longer than `step`, looking from `guess` on.
  int64_t longer(int64_t step, int64_t guess) const {
    while (guess > 0 && lengths[guess - 1] <= step) --guess;
    while (guess < batch && lengths[guess] > step) ++guess;
    return guess;
  }

  template <class Visit>
  void for_each_step(Visit visit) const {
    PackedStep s{.samples = batch, .after = longer(1, batch)};
    while (s.samples > 0) {
      visit(s);
      s = {s.step + 1, s.first_row + s.samples, s.after, s.samples, longer(s.step + 2, s.after)};
    }
  }

  template <class Visit>
  void for_each_step_backwards(Visit visit) const {
    const int64_t last = lengths[0] - 1, samples = longer(last, 0);
    PackedStep s{last, rows - samples, samples, last > 0 ? longer(last - 1, samples) : 0, 0};
    for (;;) {
      visit(s);
      if (s.step == 0) return;
      s = {s.step - 1, s.first_row - s.before, s.before, s.step > 1 ? longer(s.step - 2, s.before) : 0, s.samples};
    }
  }
};

}  // namespace tidemark::ops
