// Philox4x32-10, a counter-based random generator: the same key and counter give the same bits on every device, thread
// and order of calls. Salmon, Moraes, Dror, Shaw: "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011, section 4.3.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/host_device.h"

namespace tidemark {

struct PhiloxKey {
  uint32_t word[2];
};

// Four words of 32 bits: the counter, or the random bits that it gives.
struct Philox4 {
  uint32_t word[4];
};

namespace internal {

TM_HOST_DEVICE inline Philox4 philox_round(Philox4 c, PhiloxKey k) {
  const uint64_t p0 = uint64_t{0xD2511F53u} * c.word[0];
  const uint64_t p1 = uint64_t{0xCD9E8D57u} * c.word[2];
  return {{static_cast<uint32_t>(p1 >> 32) ^ c.word[1] ^ k.word[0], static_cast<uint32_t>(p1),
           static_cast<uint32_t>(p0 >> 32) ^ c.word[3] ^ k.word[1], static_cast<uint32_t>(p0)}};
}

}  // namespace internal

TM_HOST_DEVICE inline Philox4 philox4x32_10(Philox4 counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    counter = internal::philox_round(counter, key);
    key.word[0] += 0x9E3779B9u;  // Weyl sequence: golden ratio
    key.word[1] += 0xBB67AE85u;  // sqrt(3) - 1
  }
  return counter;
}

// What a random draw hangs on. `op` names the drawing operation in the graph; `sample` is the position in the step's
// global batch, not in the micro-batch, so that micro-batch and rank count do not change the draw.
struct RandomSite {
  uint64_t seed = 0;
  uint32_t step = 0;
  uint32_t sample = 0;
  uint32_t op = 0;
};

// Random bits for elements 4 * block .. 4 * block + 3 of the site.
TM_HOST_DEVICE inline Philox4 random_block(RandomSite site, uint32_t block) {
  return philox4x32_10({{block, site.sample, site.step, site.op}},
                       {{static_cast<uint32_t>(site.seed), static_cast<uint32_t>(site.seed >> 32)}});
}

// Uniform in [0, 1): a multiple of 2^-24, exact in float, so the same on every device.
TM_HOST_DEVICE inline float uniform_float(uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }

struct NormalPair {
  float first;
  float second;
};

// Two independent standard normal numbers (Box-Muller). log, sin and cos round differently between mathematics
// libraries: not bit-identical across devices. |value| < 5.8.
TM_HOST_DEVICE inline NormalPair normal_pair(uint32_t bits0, uint32_t bits1) {
  const float u = static_cast<float>((bits0 >> 8) + 1) * 0x1p-24f;  // (0, 1]
  const float radius = sqrtf(-2.0f * logf(u));
  const float angle = 6.28318530717958647692f * uniform_float(bits1);
  return {radius * cosf(angle), radius * sinf(angle)};
}

}  // namespace tidemark
