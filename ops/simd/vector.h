// Vectors of floats as wide as the CPU level that a kernel is compiled for. For sources of tm_simd_library only (it
// defines TM_ISA_NAMESPACE and TM_ISA_LEVEL); list this header under textual_hdrs.
//
// VecF and VecI are GCC vector types: + - * / < and c ? a : b work lane by lane, a scalar operand is spread over the
// lanes, and a * b + c becomes one FMA where the level has it.
#pragma once

#include <cstdint>
#include <cstring>

namespace tidemark::TM_ISA_NAMESPACE {

#if TM_ISA_LEVEL >= 4
inline constexpr int64_t kLanes = 16;
#elif TM_ISA_LEVEL == 3
inline constexpr int64_t kLanes = 8;
#else
inline constexpr int64_t kLanes = 4;
#endif

typedef float VecF __attribute__((vector_size(kLanes * sizeof(float))));
typedef int32_t VecI __attribute__((vector_size(kLanes * sizeof(int32_t))));

// Unaligned access to kLanes floats.
inline VecF load(const float* from) {
  VecF v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
inline void store(float* to, VecF v) { std::memcpy(to, &v, sizeof v); }

// The first `count` floats (0 <= count < kLanes); the other lanes are `filler`.
inline VecF load_first(const float* from, int64_t count, float filler) {
  VecF v = filler - VecF{};
  std::memcpy(&v, from, static_cast<size_t>(count) * sizeof(float));
  return v;
}
inline void store_first(float* to, VecF v, int64_t count) {
  std::memcpy(to, &v, static_cast<size_t>(count) * sizeof(float));
}

// One load that repeats x: x - 0 is x for every x, so that nothing is computed (0 + x is not x for -0).
inline VecF spread(float x) { return x - VecF{}; }

// Lanes below `count` (any number) from v, the others `filler`. In registers: storing fillers and loading the vector
// right after would wait for the stores.
inline VecF keep_first(VecF v, int64_t count, float filler) {
  VecI lane;
  for (int32_t i = 0; i < kLanes; ++i) lane[i] = i;
  return lane < static_cast<int32_t>(count) ? v : spread(filler);
}

inline VecF maximum(VecF a, VecF b) { return a > b ? a : b; }

// Lane i of the result is lane i ^ distance.
template <int Distance>
inline VecF swap_lanes(VecF v) {
  VecI from;
  for (int32_t i = 0; i < kLanes; ++i) from[i] = i ^ Distance;
  return __builtin_shuffle(v, from);
}

// Halves onto halves: the order is the same at every call, and the chain of additions is short.
template <int Distance = kLanes / 2>
inline float sum_of_lanes(VecF v) {
  v += swap_lanes<Distance>(v);
  if constexpr (Distance > 1) return sum_of_lanes<Distance / 2>(v);
  return v[0];
}
template <int Distance = kLanes / 2>
inline float maximum_of_lanes(VecF v) {
  v = maximum(v, swap_lanes<Distance>(v));
  if constexpr (Distance > 1) return maximum_of_lanes<Distance / 2>(v);
  return v[0];
}

inline int64_t round_up_to_lanes(int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

}  // namespace tidemark::TM_ISA_NAMESPACE
