#include "ops/batch_norm/batch_norm_simd.h"

#include "ops/simd/vector.h"

namespace tidemark::TM_ISA_NAMESPACE {
namespace {

// kLanes channels of a row at once, or one: what is left at the end of a row is faster one by one than by copies of
// part of a vector.
struct WholeVector {
  using Value = VecF;
  static VecF get(const float* from) { return load(from); }
  static void put(float* to, VecF v) { store(to, v); }
};
struct OneChannel {
  using Value = float;
  static float get(const float* from) { return *from; }
  static void put(float* to, float v) { *to = v; }
};

// Calls body(access, c) for each vector of channels and then for each channel that is left; c is the first.
template <class Body>
inline void for_each_vector(int64_t channels, Body body) {
  int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) body(WholeVector(), c);
  for (; c < channels; ++c) body(OneChannel(), c);
}

template <class Value>
inline Value zero_where_not_positive(Value value, Value of) {
  return of > 0.0f ? value : Value{};
}

}  // namespace

void batch_moments(const float* x, int64_t rows, int64_t channels, float* mean, float* squared_deviations) {
  const float inverse_rows = 1.0f / static_cast<float>(rows);
  for_each_vector(channels, [=](auto access, int64_t c) {
    using Value = typename decltype(access)::Value;
    // Measured from the first row, so that a mean far from zero costs no digits.
    const Value first = access.get(x + c);
    Value sum = Value{};
    for (int64_t r = 1; r < rows; ++r) sum += access.get(x + r * channels + c) - first;
    const Value center = first + sum * inverse_rows;
    Value squares = Value{};
    for (int64_t r = 0; r < rows; ++r) {
      const Value deviation = access.get(x + r * channels + c) - center;
      squares += deviation * deviation;
    }
    access.put(mean + c, center);
    access.put(squared_deviations + c, squares);
  });
}

void batch_normalize(const float* x, int64_t rows, int64_t channels, const float* mean, const float* rstd,
                     const float* gamma, const float* beta, bool relu, float* y) {
  for (int64_t r = 0; r < rows; ++r) {
    for_each_vector(channels, [=](auto access, int64_t c) {
      using Value = typename decltype(access)::Value;
      const Value scale = access.get(gamma + c) * access.get(rstd + c);
      const Value z = (access.get(x + r * channels + c) - access.get(mean + c)) * scale + access.get(beta + c);
      access.put(y + r * channels + c, relu ? (z < 0.0f ? Value{} : z) : z);
    });
  }
}

void batch_gradient_sums(const float* dy, const float* x, const float* y_or_null, int64_t rows, int64_t channels,
                         const float* mean, const float* rstd, float* sum_dz, float* sum_dz_xhat) {
  for_each_vector(channels, [=](auto access, int64_t c) {
    using Value = typename decltype(access)::Value;
    const Value center = access.get(mean + c), scale = access.get(rstd + c);
    Value sum = Value{}, product = Value{};
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t at = r * channels + c;
      Value dz = access.get(dy + at);
      if (y_or_null != nullptr) dz = zero_where_not_positive(dz, access.get(y_or_null + at));
      sum += dz;
      product += dz * ((access.get(x + at) - center) * scale);
    }
    access.put(sum_dz + c, sum);
    access.put(sum_dz_xhat + c, product);
  });
}

void batch_gradient(const float* dy, const float* x, const float* y_or_null, int64_t rows, int64_t channels,
                    const BatchNormGradient& of, float* dx) {
  for (int64_t r = 0; r < rows; ++r) {
    for_each_vector(channels, [=](auto access, int64_t c) {
      using Value = typename decltype(access)::Value;
      const int64_t at = r * channels + c;
      const Value rstd = access.get(of.rstd + c);
      const Value xhat = (access.get(x + at) - access.get(of.mean + c)) * rstd;
      Value dz = access.get(dy + at);
      if (y_or_null != nullptr) dz = zero_where_not_positive(dz, access.get(y_or_null + at));
      const Value common = (access.get(of.sum_dz + c) + xhat * access.get(of.sum_dz_xhat + c)) * of.inverse_count;
      access.put(dx + at, access.get(of.gamma + c) * rstd * (dz - common));
    });
  }
}

}  // namespace tidemark::TM_ISA_NAMESPACE
