// Fixed-width vectors of keys in the compiler's own vector types: one source for every level of the instruction set.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

namespace tidemark::TM_ISA_NAMESPACE {

template <class Key>
struct Lanes {
  static constexpr int kCount = 64 / sizeof(Key);
  typedef Key Vector __attribute__((vector_size(64)));

  static Vector load(const Key* from) {
    Vector v;
    std::memcpy(&v, __builtin_assume_aligned(from, 64), sizeof v);
    return v;
  }
  static void store(Key* to, Vector v) { std::memcpy(__builtin_assume_aligned(to, 64), &v, sizeof v); }
  static Vector all(Key value) { return Vector{} + value; }
  static Vector min(Vector a, Vector b) { return a < b ? a : b; }
  static Vector max(Vector a, Vector b) { return a > b ? a : b; }

  static Key min_of(Vector v) {
    return fold(v, [](auto a, auto b) { return a < b ? a : b; });
  }
  static Key sum_of(Vector v) {
    return fold(v, [](auto a, auto b) { return a + b; });
  }

 private:
  // Halves the vector until 16 bytes are left: what every level has in one register.
  template <class Combine>
  static Key fold(Vector v, Combine combine) {
    typedef Key Half __attribute__((vector_size(32)));
    typedef Key Quarter __attribute__((vector_size(16)));
    Half halves[2];
    std::memcpy(halves, &v, sizeof v);
    const Half half = combine(halves[0], halves[1]);
    Quarter quarters[2];
    std::memcpy(quarters, &half, sizeof half);
    const Quarter quarter = combine(quarters[0], quarters[1]);
    Key result = quarter[0];
    for (int i = 1; i < static_cast<int>(16 / sizeof(Key)); ++i) result = combine(result, quarter[i]);
    return result;
  }
};

}  // namespace tidemark::TM_ISA_NAMESPACE
