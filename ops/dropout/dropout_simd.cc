#include "ops/dropout/dropout_simd.h"

#include <algorithm>

#include "ops/dropout/dropout_math.h"

namespace tidemark::TM_ISA_NAMESPACE {
namespace {

// Counters are kept apart by word, so that a round is a loop over lanes that the compiler turns into vector
// instructions.
constexpr int kBlocks = 16;
constexpr int kElements = 4 * kBlocks;

struct Lanes {
  uint32_t word[4][kBlocks];
};

void draw(RandomSite site, uint32_t first_block, Lanes& lanes) {
  for (int i = 0; i < kBlocks; ++i) {
    lanes.word[0][i] = first_block + static_cast<uint32_t>(i);
    lanes.word[1][i] = site.sample;
    lanes.word[2][i] = site.step;
    lanes.word[3][i] = site.op;
  }
  PhiloxKey key{{static_cast<uint32_t>(site.seed), static_cast<uint32_t>(site.seed >> 32)}};
  for (int round = 0; round < 10; ++round) {
#pragma GCC ivdep
    for (int i = 0; i < kBlocks; ++i) {
      const Philox4 next = tidemark::internal::philox_round(
          {{lanes.word[0][i], lanes.word[1][i], lanes.word[2][i], lanes.word[3][i]}}, key);
      for (int w = 0; w < 4; ++w) lanes.word[w][i] = next.word[w];
    }
    key.word[0] += 0x9E3779B9u;
    key.word[1] += 0xBB67AE85u;
  }
}

}  // namespace

void dropout_range(RandomSite site, int64_t first, const float* x, float* y, int64_t count, float p, float keep_scale) {
  Lanes lanes;
  for (int64_t done = 0; done < count; done += kElements) {
    draw(site, static_cast<uint32_t>((first + done) / 4), lanes);
    uint32_t bits[kElements];
    for (int i = 0; i < kElements; ++i) bits[i] = lanes.word[i % 4][i / 4];
    const int64_t some = std::min<int64_t>(kElements, count - done);
#pragma GCC ivdep
    for (int64_t i = 0; i < some; ++i) y[done + i] = ops::dropout_math(x[done + i], bits[i], p, keep_scale);
  }
}

}  // namespace tidemark::TM_ISA_NAMESPACE
