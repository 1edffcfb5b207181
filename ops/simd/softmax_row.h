// The softmax of a row of scores, in the two passes that attention needs. For sources of tm_simd_library only.
#pragma once

#include <limits>

#include "ops/simd/exp.h"

namespace tidemark::TM_ISA_NAMESPACE {

struct RowSum {
  float maximum, sum;
};

// scores[0, end) := exp(scale * (score - maximum)), 0 from `seen` on; end is a multiple of kLanes. What lies from
// `seen` on is not looked at.
inline RowSum exponentials(float* scores, int64_t seen, int64_t end, float scale) {
  constexpr float kUnseen = -std::numeric_limits<float>::infinity();
  const int64_t whole = seen / kLanes * kLanes;
  VecF most = spread(kUnseen);
  for (int64_t j = 0; j < whole; j += kLanes) most = maximum(most, load(scores + j));
  for (int64_t j = whole; j < end; j += kLanes) most = maximum(most, keep_first(load(scores + j), seen - j, kUnseen));
  const float maximum = maximum_of_lanes(most);
  VecF sum = {};
  const auto replace = [&](int64_t j, VecF score) {
    const VecF e = exp((score - maximum) * scale);
    store(scores + j, e);
    sum += e;
  };
  for (int64_t j = 0; j < whole; j += kLanes) replace(j, load(scores + j));
  for (int64_t j = whole; j < end; j += kLanes) replace(j, keep_first(load(scores + j), seen - j, kUnseen));
  return {maximum, sum_of_lanes(sum)};
}

inline void scale_row(float* row, int64_t count, float factor) {
  for (int64_t c = 0; c < count; ++c) row[c] *= factor;
}

}  // namespace tidemark::TM_ISA_NAMESPACE
