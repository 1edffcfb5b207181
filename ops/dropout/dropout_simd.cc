#include "ops/dropout/dropout_simd.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "ops/dropout/dropout_math.h"

// The generator over several counters at once. Each 32-bit word of a counter lies in a 64-bit lane: the CPU's widening
// multiplication reads the low half of a lane and fills it whole, so nothing is packed or unpacked between rounds, and
// what collects in high halves is never read.
namespace tidemark::TM_ISA_NAMESPACE {
namespace {

#if TM_ISA_LEVEL >= 4
constexpr int kLanes = 8;
#elif TM_ISA_LEVEL == 3
constexpr int kLanes = 4;
#else
constexpr int kLanes = 2;
#endif
typedef uint64_t Words __attribute__((vector_size(kLanes * sizeof(uint64_t))));

Words spread(uint64_t x) { return Words{} + x; }

Words multiply_low_halves(Words a, Words b) {
#if TM_ISA_LEVEL >= 4
  return reinterpret_cast<Words>(
      _mm512_maskz_mul_epu32(0xFF, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif TM_ISA_LEVEL == 3
  return reinterpret_cast<Words>(_mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#else
  return reinterpret_cast<Words>(_mm_mul_epu32(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#endif
}

constexpr int kStreams = 4;  // independent counters in flight: one round's latency is several multiplications long
constexpr int kElements = 4 * kLanes * kStreams;

struct Counters {
  Words word[4];
};

inline void advance(Counters& c, Words k0, Words k1) {
  const Words p0 = multiply_low_halves(c.word[0], spread(0xD2511F53u));
  const Words p1 = multiply_low_halves(c.word[2], spread(0xCD9E8D57u));
  c.word[0] = (p1 >> 32) ^ c.word[1] ^ k0;
  c.word[1] = p1;
  c.word[2] = (p0 >> 32) ^ c.word[3] ^ k1;
  c.word[3] = p0;
}

// Four words of each lane, lane by lane.
inline void store_in_order(const Counters& c, uint32_t* bits) {
  const Words first = (c.word[0] & 0xFFFFFFFFu) | (c.word[1] << 32);
  const Words second = (c.word[2] & 0xFFFFFFFFu) | (c.word[3] << 32);
  Words low{}, high{};
  for (int i = 0; i < kLanes; ++i) {
    low[i] = static_cast<uint64_t>(i / 2 + (i % 2 ? kLanes : 0));
    high[i] = low[i] + kLanes / 2;
  }
  const Words pairs[2] = {__builtin_shuffle(first, second, low), __builtin_shuffle(first, second, high)};
  std::memcpy(bits, pairs, sizeof pairs);
}

// The bits of elements 4 * first_block .. 4 * first_block + kElements - 1: random_block() of kElements / 4 blocks.
inline void draw(RandomSite site, uint32_t first_block, uint32_t* bits) {
  Words lane{};
  for (int i = 0; i < kLanes; ++i) lane[i] = static_cast<uint64_t>(i);
  Counters streams[kStreams];
  for (int s = 0; s < kStreams; ++s) {
    streams[s] = {{lane + (first_block + static_cast<uint32_t>(s * kLanes)), spread(site.sample), spread(site.step),
                   spread(site.op)}};
  }
  uint32_t k0 = static_cast<uint32_t>(site.seed), k1 = static_cast<uint32_t>(site.seed >> 32);
  for (int round = 0; round < 10; ++round) {
#pragma GCC unroll 8
    for (int s = 0; s < kStreams; ++s) advance(streams[s], spread(k0), spread(k1));
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (int s = 0; s < kStreams; ++s) store_in_order(streams[s], bits + 4 * kLanes * s);
}

}  // namespace

void dropout_range(RandomSite site, int64_t first, const float* x, float* y, int64_t count, float p, float keep_scale) {
  uint32_t bits[kElements];
  int64_t done = 0;
  for (; done + kElements <= count; done += kElements) {
    draw(site, static_cast<uint32_t>((first + done) / 4), bits);
#pragma GCC ivdep
    for (int64_t i = 0; i < kElements; ++i) {
      y[done + i] = ops::dropout_math(x[done + i], bits[i], p, keep_scale);
    }
  }
  draw(site, static_cast<uint32_t>((first + done) / 4), bits);
  for (int64_t i = done; i < count; ++i) y[i] = ops::dropout_math(x[i], bits[i - done], p, keep_scale);
}

}  // namespace tidemark::TM_ISA_NAMESPACE
