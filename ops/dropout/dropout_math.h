// The arithmetic of dropout, for every device.
#pragma once

#include "base/philox.h"

namespace tidemark::ops {

// The generator's site of one sample. The step's high word moves the seed: runs of more than 2^32 steps stay random.
TM_HOST_DEVICE inline RandomSite dropout_site(uint64_t seed, uint32_t op_index, const int32_t* step_state,
                                              int32_t sample_id) {
  const uint64_t high = static_cast<uint32_t>(step_state[1]);
  return {seed ^ (high << 32), static_cast<uint32_t>(step_state[0]), static_cast<uint32_t>(sample_id), op_index};
}

// keep_scale = 1 / (1 - p).
TM_HOST_DEVICE inline float dropout_math(float x, uint32_t bits, float p, float keep_scale) {
  return uniform_float(bits) >= p ? x * keep_scale : 0.0f;
}

}  // namespace tidemark::ops
