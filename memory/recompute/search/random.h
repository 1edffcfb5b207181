// A small generator for the search: the same numbers on every machine.
#pragma once

#include <cstdint>

namespace tidemark::memory::recompute {

class Random {
 public:
  // Neighbouring seeds give rows that have nothing in common: unmixed, one would be the other a step later.
  explicit Random(uint64_t seed) : state_(mix(seed + kStep)) {}

  uint64_t next() { return mix(state_ += kStep); }
  // In [0, limit); limit > 0.
  int64_t below(int64_t limit) { return static_cast<int64_t>((next() >> 1) % static_cast<uint64_t>(limit)); }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // in [0, 1)

 private:
  static constexpr uint64_t kStep = 0x9E3779B97F4A7C15ULL;

  static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

  uint64_t state_;
};

}  // namespace tidemark::memory::recompute
