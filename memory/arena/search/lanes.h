// Fixed-width vectors of keys in the compiler's own vector types: one source for every level of the instruction set.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

namespace tidemark::TM_ISA_NAMESPACE {

// What one register of this level holds. Wider vectors would compile too, but into slow code.
inline constexpr int kVectorBytes = TM_ISA_LEVEL >= 4 ? 64 : TM_ISA_LEVEL == 3 ? 32 : 16;
// Rows of keys are padded to this on every level.
inline constexpr int kRowBytes = 64;

template <class Key>
struct Lanes {
  static constexpr int kCount = kVectorBytes / sizeof(Key);
  typedef Key Vector __attribute__((vector_size(kVectorBytes)));

  static Vector load(const Key* from) {
    Vector v;
    std::memcpy(&v, __builtin_assume_aligned(from, kVectorBytes), sizeof v);
    return v;
  }
  static void store(Key* to, Vector v) { std::memcpy(__builtin_assume_aligned(to, kVectorBytes), &v, sizeof v); }
  static Vector all(Key value) { return Vector{} + value; }
  static Vector min(Vector a, Vector b) { return a < b ? a : b; }
  static Vector max(Vector a, Vector b) { return a > b ? a : b; }

  static Key min_of(Vector v) {
    return fold<kVectorBytes>(v, [](auto a, auto b) { return a < b ? a : b; });
  }
  static Key sum_of(Vector v) {
    return fold<kVectorBytes>(v, [](auto a, auto b) { return a + b; });
  }

 private:
  // Halves the vector until 16 bytes are left.
  template <int kBytes, class V, class Combine>
  static Key fold(V v, Combine combine) {
    if constexpr (kBytes > 16) {
      typedef Key Half __attribute__((vector_size(kBytes / 2)));
      Half halves[2];
      std::memcpy(halves, &v, sizeof v);
      return fold<kBytes / 2>(combine(halves[0], halves[1]), combine);
    } else {
      Key result = v[0];
      for (int i = 1; i < static_cast<int>(16 / sizeof(Key)); ++i) result = combine(result, v[i]);
      return result;
    }
  }
};

}  // namespace tidemark::TM_ISA_NAMESPACE
