// Neighbouring channels of a row as one value: registers that keep what belongs to a channel while a loop goes over the
// rows. For sources of tm_simd_library.
#pragma once

#include <utility>

#include "ops/simd/vector.h"

namespace tidemark::TM_ISA_NAMESPACE {

// Count times T, a float or a vector of floats. Arithmetic is lane by lane.
template <class T, int Count>
struct ChannelBlock {
  T part[Count];

  // f(i) for every part. Without a loop: a loop would keep the parts in memory.
  template <class F>
  static ChannelBlock each(F f) {
    return of_parts(f, std::make_index_sequence<Count>());
  }

  // As many floats as a block has, at any alignment.
  static ChannelBlock get(const float* from) {
    return each([=](size_t i) {
      T t;
      std::memcpy(&t, from + i * (sizeof(T) / sizeof(float)), sizeof t);
      return t;
    });
  }
  // Of any address, also one beyond the tensor.
  static void prefetch(const float* from) {
    constexpr size_t kFloatsOfLine = 16;
    for (size_t i = 0; i < sizeof(ChannelBlock) / sizeof(float); i += kFloatsOfLine) __builtin_prefetch(from + i);
  }
  void put(float* to) const { std::memcpy(to, part, sizeof part); }

  friend ChannelBlock operator+(const ChannelBlock& a, const ChannelBlock& b) {
    return each([&](size_t i) { return a.part[i] + b.part[i]; });
  }
  friend ChannelBlock operator-(const ChannelBlock& a, const ChannelBlock& b) {
    return each([&](size_t i) { return a.part[i] - b.part[i]; });
  }
  friend ChannelBlock operator*(const ChannelBlock& a, const ChannelBlock& b) {
    return each([&](size_t i) { return a.part[i] * b.part[i]; });
  }
  friend ChannelBlock operator*(const ChannelBlock& a, float b) {
    return each([&](size_t i) { return a.part[i] * b; });
  }

  // As relu and relu_grad choose: NaN stays NaN in the first and is not positive in the second.
  ChannelBlock zero_where_negative() const {
    return each([&](size_t i) { return part[i] < 0.0f ? T{} : part[i]; });
  }
  ChannelBlock zero_where_not_positive(const ChannelBlock& of) const {
    return each([&](size_t i) { return of.part[i] > 0.0f ? part[i] : T{}; });
  }

 private:
  template <class F, size_t... I>
  static ChannelBlock of_parts(F f, std::index_sequence<I...>) {
    return {{f(I)...}};
  }
};

// The widest block: more would not leave registers for what belongs to its channels.
inline constexpr int64_t kMostWidth = (TM_ISA_LEVEL >= 4 ? 4 : 2) * kLanes;

template <int64_t Lanes>
struct FloatVector {
  typedef float Type __attribute__((vector_size(Lanes * sizeof(float))));
};
template <>
struct FloatVector<1> {
  using Type = float;
};

// body(zero block, first channel) for all channels, each time with the widest block that fits. What is left at the end
// of a row is faster in narrow blocks than by copies of part of a vector.
template <int64_t Width = kMostWidth, class Body>
inline void for_each_block(int64_t channels, Body body, int64_t c = 0) {
  constexpr int64_t kPart = Width < kLanes ? Width : kLanes;
  for (; c + Width <= channels; c += Width) {
    body(ChannelBlock<typename FloatVector<kPart>::Type, Width / kPart>{}, c);
  }
  if constexpr (Width > 1) for_each_block<(Width > 4 ? Width / 2 : 1)>(channels, body, c);
}

}  // namespace tidemark::TM_ISA_NAMESPACE
