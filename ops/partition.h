// How elementwise kernels share their work out over threads.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tidemark::ops {

// Grain of f32 elementwise loops: no two threads write to one cache line.
inline constexpr int64_t kElementsPerCacheLine = 16;

// Threads that pay for `elements` of light work: waking one costs about as much as 8192 elements. A function of the
// shape and the thread count alone, so that the partition is fixed.
inline int useful_threads(int threads, int64_t elements, int64_t least_each = 8192) {
  return static_cast<int>(std::clamp<int64_t>(elements / least_each, 1, threads));
}

}  // namespace tidemark::ops
